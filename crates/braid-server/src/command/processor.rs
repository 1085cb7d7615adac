//! Checks that the processor has the instructions that the binary was compiled for.
//!
//! Without this check the process would end with an illegal instruction on a processor older than 2013, without a
//! message. The check reads `/proc/cpuinfo`, because the compiler replaces its own detection by `true` when the target
//! has the feature.

use std::io::{BufRead, BufReader};

/// The flags of `x86-64-v3` in `/proc/cpuinfo`.
const X86_64_V3: [&str; 7] = ["avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"];

/// The missing features.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this processor lacks {}, which this binary was compiled for (processors since 2013 have it); \
     build for this machine with RUSTFLAGS=\"-C target-cpu=native\" cargo build --release",
    .0.join(", ")
)]
pub(crate) struct MissingFeatures(Vec<&'static str>);

/// Checks the processor. Succeeds if `/proc/cpuinfo` cannot be read.
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
