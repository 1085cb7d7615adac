//! Nothing to build: it exists so that the build dependencies, and with them their features, count.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
