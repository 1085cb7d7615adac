//! Whether this processor has what the binary was compiled for.
//!
//! Without this check a processor from before 2013 would die of an illegal instruction, without a word. The operating
//! system is asked (`/proc/cpuinfo`) because the compiler folds its own detection to "yes": it was told that the
//! feature is there.

use std::io::{BufRead, BufReader};

/// `x86-64-v3` in the words of `/proc/cpuinfo`.
const X86_64_V3: [&str; 7] = ["avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"];

/// What is missing.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this processor lacks {}, which this binary was compiled for (processors since 2013 have it); \
     build for this machine with RUSTFLAGS=\"-C target-cpu=native\" cargo build --release",
    .0.join(", ")
)]
pub(crate) struct MissingFeatures(Vec<&'static str>);

/// Checks the processor; passes where there is nothing to ask.
pub(crate) fn check() -> Result<(), MissingFeatures> {
    if !cfg!(all(target_arch = "x86_64", target_feature = "avx2")) {
        return Ok(());
    }
    let Ok(file) = std::fs::File::open("/proc/cpuinfo") else {
        return Ok(());
    };
    let flags = BufReader::new(file).lines().map_while(Result::ok).find(|line| line.starts_with("flags"));
    flags.map_or(Ok(()), |flags| check_flags(&flags))
}

fn check_flags(flags: &str) -> Result<(), MissingFeatures> {
    let missing: Vec<_> =
        X86_64_V3.into_iter().filter(|feature| !flags.split_whitespace().any(|flag| flag == *feature)).collect();
    if missing.is_empty() { Ok(()) } else { Err(MissingFeatures(missing)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_features_are_named() {
        let all = format!("flags\t\t: fpu {} sse2", X86_64_V3.join(" "));
        assert_eq!(check_flags(&all), Ok(()));
        let error = check_flags(&all.replace("avx2", "avx").replace("bmi2 ", "")).unwrap_err();
        assert_eq!(error, MissingFeatures(vec!["avx2", "bmi2"]));
        assert!(error.to_string().starts_with("this processor lacks avx2, bmi2, which"));
    }
}
