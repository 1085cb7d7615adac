//! Each step of a replacement fails, crashes and loses power once.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use super::*;
use crate::faults::{Fault, FaultDevice};
use crate::open::{Backend, DeviceOptions, open_device};

const OLD: &[u8] = b"the old content";
const NEW: &[u8] = b"the new content, longer than a sector; ";

/// The steps of a replacement, in order.
const STEPS: [IoOperation; 4] =
    [IoOperation::Write, IoOperation::Sync, IoOperation::Rename, IoOperation::SyncDirectory];

/// Power cuts for each place: each outcome of a few is among them.
const SEEDS: u64 = 50;

fn new_content() -> Vec<u8> {
    NEW.repeat(30)
}

fn plain_device(dir: &Path) -> Arc<dyn Device> {
    let options = DeviceOptions { backend: Backend::Threads, direct: false, queue_depth_max: 1, threads: 1 };
    open_device(dir, &options).unwrap()
}

/// A directory with the file `manifest`, and a device for it.
fn with_old_content() -> (tempfile::TempDir, Arc<FaultDevice>) {
    // In memory: what is lost is simulated, nothing real need be synced.
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    fs::write(dir.path().join("manifest"), OLD).unwrap();
    let device = FaultDevice::with_volatile_cache(plain_device(dir.path()));
    (dir, device)
}

fn content(dir: &Path) -> Vec<u8> {
    fs::read(dir.join("manifest")).unwrap()
}

#[test]
fn a_file_is_replaced_whole_in_four_steps() {
    let dir = tempfile::tempdir().unwrap();
    let device = FaultDevice::new(plain_device(dir.path()));
    for bytes in [&b"first"[..], b"", b"third, longer than the others"] {
        replace_file(device.as_ref(), dir.path(), "manifest", bytes).unwrap();
        assert_eq!(content(dir.path()), bytes);
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "only the file itself is left");
    let counts = device.counts();
    assert_eq!((counts.writes, counts.syncs, counts.renames, counts.directory_syncs), (3, 3, 3, 3));
    assert_eq!(counts.total(), 3 * STEPS.len() as u64);
}

#[test]
fn a_leftover_of_a_crash_is_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(new_content_path(dir.path(), "manifest"), vec![7; 10_000]).unwrap();
    replace_file(plain_device(dir.path()).as_ref(), dir.path(), "manifest", b"new").unwrap();
    assert_eq!(content(dir.path()), b"new");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

/// Only the last step leaves a doubt, and then both contents are whole.
#[test]
fn each_step_may_fail() {
    for (at, step) in STEPS.into_iter().enumerate() {
        for seed in 0..SEEDS {
            let (dir, device) = with_old_content();
            device.inject(Fault::Fail { operation: Some(step), file: None, nth: 1, errno: libc::EIO });
            let error = replace_file(device.as_ref(), dir.path(), "manifest", &new_content()).unwrap_err();
            let is_last = at + 1 == STEPS.len();
            assert_eq!(matches!(error, ReplaceError::Uncertain(_)), is_last, "{step}: {error}");
            assert!(!new_content_path(dir.path(), "manifest").exists(), "{step}: the space is given back");
            let before_cut = content(dir.path());
            assert_eq!(before_cut, if is_last { new_content() } else { OLD.to_vec() }, "{step}");
            device.cut_power(seed).unwrap();
            let found = content(dir.path());
            assert!(found == OLD || is_last && found == new_content(), "{step} failed, power cut with seed {seed}");
        }
    }
}

#[test]
fn the_power_may_go_before_each_step_and_after_the_last() {
    for done in 0..=STEPS.len() {
        let mut found = BTreeSet::new();
        for seed in 0..SEEDS {
            let (dir, device) = with_old_content();
            device.inject(Fault::Crash { after_operations: done as u64 });
            let result = replace_file(device.as_ref(), dir.path(), "manifest", &new_content());
            assert_eq!(result.is_ok(), done == STEPS.len(), "{done} steps done");
            device.cut_power(seed).unwrap();
            found.insert(content(dir.path()));
        }
        let expected = match done {
            0..3 => BTreeSet::from([OLD.to_vec()]),
            3 => BTreeSet::from([OLD.to_vec(), new_content()]),
            _ => BTreeSet::from([new_content()]),
        };
        assert!(found == expected, "{done} steps done: {} contents found", found.len());
    }
}

#[test]
fn a_renaming_that_is_refused_leaves_the_old_and_no_rest() {
    let dir = tempfile::tempdir().unwrap();
    let device = plain_device(dir.path());
    // A directory of that name makes the renaming fail after the new content is written.
    fs::create_dir(dir.path().join("manifest")).unwrap();
    let error = replace_file(device.as_ref(), dir.path(), "manifest", b"new").unwrap_err();
    let is_rename = matches!(&error, ReplaceError::NotReplaced(IoError::File { operation: IoOperation::Rename, .. }));
    assert!(is_rename, "{error}");
    assert!(dir.path().join("manifest").is_dir());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);

    let missing = replace_file(device.as_ref(), &dir.path().join("nowhere"), "manifest", b"new").unwrap_err();
    assert!(matches!(&missing, ReplaceError::NotReplaced(error) if error.is_not_found()), "{missing}");
}

#[test]
fn directories_appear_once_and_with_their_parents() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("a/b/c");
    create_dir_all(&deep).unwrap();
    create_dir_all(&deep).unwrap();
    assert!(deep.is_dir());
    fs::write(dir.path().join("file"), b"").unwrap();
    let error = create_dir_all(&dir.path().join("file")).unwrap_err();
    assert!(matches!(error, IoError::File { operation: IoOperation::CreateDirectory, .. }), "{error}");
}
