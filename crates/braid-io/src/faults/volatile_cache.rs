//! The part of a disk that forgets: what was written and not yet synced, and what a power cut makes of it.
//!
//! A disk with a volatile write cache promises one thing: what a sync covered stays. Of any other write a power cut
//! leaves nothing, all of it, or its first sectors (a torn write), independently of the writes before and after it.
//! The file's length is forgotten with the writes that made it. All that is decided by a seed.
//!
//! The real file has every write at once, so that reads need no detour; beside each unsynced write lie the bytes it
//! replaced. Writes that are under way when a sync begins are not covered by it.
//!
//! Names belong to directories: what was created, renamed or removed since its directory was synced may be undone, each
//! with a chance of one half, the last first. A renaming that is undone gives both names back what they had.
//!
//! Not simulated: directories themselves, and disks that break their promise.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use braid_base::{Random, SeededRandom};

/// What a disk writes as a whole or not at all.
const SECTOR_BYTES: usize = 512;

/// A write that no sync has covered.
#[derive(Debug)]
struct Unsynced {
    id: u64,
    offset: u64,
    /// What the file had there, as far as it reached.
    former: Vec<u8>,
    written: Vec<u8>,
    done: bool,
}

/// A file with unsynced writes, in the order in which they began.
#[derive(Debug, Default)]
struct UnsyncedFile {
    /// The length that is certain.
    durable_len: u64,
    writes: Vec<Unsynced>,
}

/// A change of names that no sync of a directory has covered.
#[derive(Debug)]
enum NameChange {
    Created { path: PathBuf },
    Renamed { from: PathBuf, to: PathBuf, former: Option<Vec<u8>> },
    Removed { path: PathBuf, former: Vec<u8> },
}

/// All unsynced writes and names of a device.
#[derive(Debug, Default)]
pub(super) struct VolatileCache {
    files: BTreeMap<PathBuf, UnsyncedFile>,
    /// In the order in which they were made.
    names: Vec<NameChange>,
    next_id: u64,
}

impl VolatileCache {
    /// The file has been created.
    pub(super) fn created(&mut self, path: &Path) {
        self.names.push(NameChange::Created { path: path.to_owned() });
    }

    /// The file has been created, or emptied, and written as a whole. What was there before means nothing.
    pub(super) fn created_small(&mut self, path: &Path, bytes: &[u8]) {
        self.created(path);
        self.next_id += 1;
        let write = Unsynced { id: self.next_id, offset: 0, former: Vec::new(), written: bytes.to_vec(), done: true };
        self.files.insert(path.to_owned(), UnsyncedFile { durable_len: 0, writes: vec![write] });
    }

    /// The small file has been synced.
    pub(super) fn synced_small(&mut self, path: &Path) {
        self.files.remove(path);
    }

    /// `from` has become `to`, which had the content `former`.
    pub(super) fn renamed(&mut self, from: &Path, to: &Path, former: Option<Vec<u8>>) {
        self.files.remove(to);
        if let Some(unsynced) = self.files.remove(from) {
            self.files.insert(to.to_owned(), unsynced);
        }
        self.names.push(NameChange::Renamed { from: from.to_owned(), to: to.to_owned(), former });
    }

    /// The file has lost its name.
    pub(super) fn removed(&mut self, path: &Path, former: Vec<u8>) {
        self.files.remove(path);
        self.names.push(NameChange::Removed { path: path.to_owned(), former });
    }

    /// The names in `dir` are durable.
    pub(super) fn synced_directory(&mut self, dir: &Path) {
        self.names.retain(|change| change.path().parent() != Some(dir));
    }

    /// A write is about to begin; returns its number.
    pub(super) fn begin_write(&mut self, path: &Path, offset: u64, bytes: &[u8]) -> io::Result<u64> {
        let file = File::open(path)?;
        let mut former = vec![0; bytes.len()];
        let former_len = read_up_to(&file, &mut former, offset)?;
        former.truncate(former_len);
        let unsynced = self.files.entry(path.to_owned()).or_default();
        if unsynced.writes.is_empty() {
            unsynced.durable_len = file.metadata()?.len();
        }
        self.next_id += 1;
        unsynced.writes.push(Unsynced { id: self.next_id, offset, former, written: bytes.to_vec(), done: false });
        Ok(self.next_id)
    }

    /// The write with this number has returned.
    pub(super) fn end_write(&mut self, path: &Path, id: u64) {
        let writes = self.files.get_mut(path).map_or(&mut [][..], |file| &mut file.writes);
        writes.iter_mut().filter(|write| write.id == id).for_each(|write| write.done = true);
    }

    /// The writes that a sync that begins now covers.
    pub(super) fn begin_sync(&self, path: &Path) -> Vec<u64> {
        let writes = self.files.get(path).map_or(&[][..], |file| &file.writes);
        writes.iter().filter(|write| write.done).map(|write| write.id).collect()
    }

    /// The sync of these writes has succeeded.
    pub(super) fn end_sync(&mut self, path: &Path, covered: &[u64]) {
        let Some(file) = self.files.get_mut(path) else { return };
        for write in file.writes.extract_if(.., |write| covered.contains(&write.id)) {
            file.durable_len = file.durable_len.max(write.offset + write.written.len() as u64);
        }
    }

    /// Leaves of every unsynced write and name what `seed` says, and forgets them.
    pub(super) fn cut_power(&mut self, seed: u64) -> io::Result<()> {
        let mut random = SeededRandom::new(seed);
        for (path, unsynced) in std::mem::take(&mut self.files) {
            match OpenOptions::new().write(true).open(&path) {
                Ok(file) => unsynced.cut_power(&file, &mut random)?,
                // Deleted since.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        for change in self.names.drain(..).rev() {
            if random.chance(1, 2) {
                change.undo()?;
            }
        }
        Ok(())
    }
}

impl NameChange {
    /// The name that was given or taken away.
    fn path(&self) -> &Path {
        match self {
            Self::Created { path } | Self::Renamed { to: path, .. } | Self::Removed { path, .. } => path,
        }
    }

    fn undo(self) -> io::Result<()> {
        match self {
            // It may have been renamed or removed since.
            Self::Created { path } if path.exists() => fs::remove_file(path),
            Self::Renamed { from, to, former } if to.exists() => {
                fs::rename(&to, from)?;
                former.map_or(Ok(()), |bytes| fs::write(to, bytes))
            }
            Self::Removed { path, former } => fs::write(path, former),
            Self::Created { .. } | Self::Renamed { .. } => Ok(()),
        }
    }
}

impl UnsyncedFile {
    /// Takes all writes back, last first, and then makes again what is to be left of each.
    fn cut_power(&self, file: &File, random: &mut SeededRandom) -> io::Result<()> {
        if self.writes.is_empty() {
            return Ok(());
        }
        for write in self.writes.iter().rev() {
            file.write_all_at(&write.former, write.offset)?;
        }
        file.set_len(self.durable_len)?;
        for write in &self.writes {
            file.write_all_at(&write.written[..surviving_bytes(write.written.len(), random)], write.offset)?;
        }
        Ok(())
    }
}

/// Nothing, everything, or some sectors: each as likely.
fn surviving_bytes(len: usize, random: &mut SeededRandom) -> usize {
    match random.below(3) {
        0 => 0,
        1 => len,
        _ => len.min(random.below(len.div_ceil(SECTOR_BYTES) as u64 + 1) as usize * SECTOR_BYTES),
    }
}

fn read_up_to(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use braid_testing::cases;

    use super::*;

    const LEN: usize = 4 * SECTOR_BYTES;

    /// Writes `bytes` at `offset` of the file and tells the cache.
    fn write(cache: &mut VolatileCache, path: &Path, offset: u64, byte: u8) {
        let id = cache.begin_write(path, offset, &[byte; LEN]).unwrap();
        OpenOptions::new().write(true).open(path).unwrap().write_all_at(&[byte; LEN], offset).unwrap();
        cache.end_write(path, id);
    }

    fn sync(cache: &mut VolatileCache, path: &Path) {
        let covered = cache.begin_sync(path);
        cache.end_sync(path, &covered);
    }

    #[test]
    fn what_was_synced_stays_and_the_rest_survives_in_sectors() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        let mut outcomes = std::collections::BTreeSet::new();
        let cases = cases!(0..100);
        let is_replay = cases.is_replay();
        for case in cases {
            fs::write(&path, b"").unwrap();
            let mut cache = VolatileCache::default();
            write(&mut cache, &path, 0, 1);
            sync(&mut cache, &path);
            write(&mut cache, &path, LEN as u64 / 2, 2);
            cache.cut_power(case.seed).unwrap();
            let found = fs::read(&path).unwrap();
            let twos = found.iter().filter(|byte| **byte == 2).count();
            assert!(found.len() >= LEN && twos.is_multiple_of(SECTOR_BYTES));
            let kept = LEN / 2 + twos.max(LEN / 2);
            assert_eq!(found, [&[1; LEN / 2][..], &vec![2; twos], &vec![1; kept - LEN / 2 - twos]].concat(),);
            outcomes.insert(twos);
        }
        assert!(is_replay || outcomes.len() == 5, "{outcomes:?}, not nothing, one to three sectors, everything");
    }

    #[test]
    fn a_write_under_way_is_not_covered_by_a_sync() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        fs::write(&path, b"").unwrap();
        let mut cache = VolatileCache::default();
        let id = cache.begin_write(&path, 0, &[1; LEN]).unwrap();
        assert_eq!(cache.begin_sync(&path), []);
        cache.end_write(&path, id);
        assert_eq!(cache.begin_sync(&path), [id]);
        sync(&mut cache, &path);
        assert_eq!(cache.begin_sync(&path), []);
    }

    #[test]
    fn a_later_write_may_survive_an_earlier_one_beneath_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        let mut found = std::collections::BTreeSet::new();
        let cases = cases!(0..100);
        let is_replay = cases.is_replay();
        for case in cases {
            fs::write(&path, b"").unwrap();
            let mut cache = VolatileCache::default();
            write(&mut cache, &path, 0, 1);
            write(&mut cache, &path, 0, 2);
            cache.cut_power(case.seed).unwrap();
            let bytes = fs::read(&path).unwrap();
            found.insert((bytes.first().copied(), bytes.last().copied()));
        }
        for whole in [(None, None), (Some(1), Some(1)), (Some(2), Some(2)), (Some(2), Some(1))] {
            assert!(is_replay || found.contains(&whole), "{whole:?} in {found:?}");
        }
    }

    /// Which of the files are there after a power cut, with their contents; for every outcome that 200 seeds have.
    fn outcomes(
        paths: &[&Path],
        change: impl Fn(&mut VolatileCache),
    ) -> std::collections::BTreeSet<Vec<Option<String>>> {
        let outcome = |seed| {
            let mut cache = VolatileCache::default();
            change(&mut cache);
            cache.cut_power(seed).unwrap();
            paths.iter().map(|path| fs::read_to_string(path).ok()).collect()
        };
        (0..200).map(outcome).collect()
    }

    fn states<const N: usize>(states: &[[Option<&str>; N]]) -> std::collections::BTreeSet<Vec<Option<String>>> {
        states.iter().map(|state| state.iter().map(|text| text.map(str::to_owned)).collect()).collect()
    }

    #[test]
    fn names_are_as_before_or_as_after_until_their_directory_is_synced() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (dir.path().join("file"), dir.path().join("file.new"));
        let replace = |cache: &mut VolatileCache, sync_directory: bool| {
            fs::write(&old, "old").unwrap();
            fs::write(&new, "new").unwrap();
            cache.created_small(&new, b"new");
            cache.synced_small(&new);
            fs::rename(&new, &old).unwrap();
            cache.renamed(&new, &old, Some(b"old".to_vec()));
            if sync_directory {
                cache.synced_directory(dir.path());
            }
        };
        let paths = [old.as_path(), new.as_path()];
        let undone = [[Some("new"), None], [Some("old"), Some("new")], [Some("old"), None]];
        assert_eq!(outcomes(&paths, |cache| replace(cache, false)), states(&undone));
        assert_eq!(outcomes(&paths, |cache| replace(cache, true)), states(&[[Some("new"), None]]));
        let removed = outcomes(&paths, |cache| {
            fs::write(&old, "old").unwrap();
            fs::remove_file(&old).unwrap();
            cache.removed(&old, b"old".to_vec());
            let _ = fs::remove_file(&new);
        });
        assert_eq!(removed, states(&[[Some("old"), None], [None, None]]));
    }

    #[test]
    fn a_small_file_renamed_before_its_sync_may_be_empty_under_its_new_name() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (dir.path().join("file"), dir.path().join("file.new"));
        let found = outcomes(&[&old], |cache| {
            fs::write(&old, "old").unwrap();
            fs::write(&new, "new").unwrap();
            cache.created_small(&new, b"new");
            fs::rename(&new, &old).unwrap();
            cache.renamed(&new, &old, Some(b"old".to_vec()));
            cache.synced_directory(dir.path());
        });
        assert_eq!(found, states(&[[Some("")], [Some("new")]]));
    }
}
