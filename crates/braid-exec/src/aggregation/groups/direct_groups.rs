//! Groups of one integer key, found by address, because customers, parts and orders have dense numbers.
//!
//! The range of the values is divided into pages of 1024. A page is allocated when a value of it first occurs. Clustered keys
//! therefore take memory in proportion to their clusters, for any distance between clusters. When there are too many pages
//! relative to the groups in them, the caller switches to hashing.

/// Values of a page, as a power of two: 4 KiB of group numbers.
const PAGE_BITS: u32 = 10;
const PAGE_VALUES: usize = 1 << PAGE_BITS;

/// The entry for a missing page or group.
const NONE: u32 = u32::MAX;

/// Pages in the range of the values, with and without groups: 16 MiB of directory for a range of 2^32 values.
const DIRECTORY_PAGES_MAX: i64 = 1 << 22;

/// Maximum number of directory entries per page in use, beyond the first few thousand.
const DIRECTORY_PAGES_PER_PAGE: i64 = 64;
const DIRECTORY_PAGES_MIN: i64 = 1 << 12;

/// Maximum number of slots per group, beyond the allowance. TPC-H's orders use one key in four, so that gaps must be allowed.
const SLOTS_PER_GROUP: usize = 16;

/// Groups by value.
#[derive(Debug)]
pub(crate) struct DirectGroups {
    /// Number of slots that are allowed for any number of groups.
    slot_allowance: usize,
    /// Number of the directory's first page: its values shifted by `PAGE_BITS`.
    first_page: i64,
    directory: Vec<u32>,
    /// The pages, one after the other.
    slots: Vec<u32>,
    null_group: u32,
}

impl DirectGroups {
    /// No groups yet.
    pub(crate) fn new(slot_allowance: usize) -> Self {
        Self { slot_allowance, first_page: 0, directory: Vec::new(), slots: Vec::new(), null_group: NONE }
    }

    /// Replaces `groups` by the groups of the rows, and appends the first row of each new group to `new`. False, without a
    /// change, if the range of the values is too large or the groups are too sparse.
    pub(crate) fn find(
        &mut self,
        values: &[i64],
        valid: Option<&[bool]>,
        group_count: usize,
        groups: &mut Vec<u32>,
        new: &mut Vec<u32>,
    ) -> bool {
        let slots_max = self.slot_allowance.max(SLOTS_PER_GROUP * group_count);
        if self.slots.len() > slots_max {
            return false;
        }
        groups.clear();
        let Some((least, greatest)) = bounds(values, valid) else {
            groups.extend(values.iter().enumerate().map(|(row, _)| self.group_of_null(row, group_count, new)));
            return true;
        };
        let (least, greatest) = (least >> PAGE_BITS, greatest >> PAGE_BITS);
        // With a small budget, the pages of one vector are a large part of it.
        let pages_added = values.len().min((greatest - least) as usize + 1);
        if self.slots.len() + pages_added * PAGE_VALUES > 2 * slots_max || !self.cover(least, greatest) {
            return false;
        }
        match valid {
            None => groups.extend((0..).zip(values).map(|(row, value)| self.group(*value, row, group_count, new))),
            Some(valid) => groups.extend(values.iter().zip(valid).enumerate().map(|(row, (value, valid))| {
                if *valid {
                    self.group(*value, row as u32, group_count, new)
                } else {
                    self.group_of_null(row, group_count, new)
                }
            })),
        }
        true
    }

    #[inline(always)]
    fn group(&mut self, value: i64, row: u32, group_count: usize, new: &mut Vec<u32>) -> u32 {
        let entry = ((value >> PAGE_BITS) - self.first_page) as usize;
        let mut page = self.directory[entry];
        if page == NONE {
            page = self.add_page(entry);
        }
        let slot = &mut self.slots[(page as usize) << PAGE_BITS | value as usize & (PAGE_VALUES - 1)];
        if *slot == NONE {
            *slot = (group_count + new.len()) as u32;
            new.push(row);
        }
        *slot
    }

    fn group_of_null(&mut self, row: usize, group_count: usize, new: &mut Vec<u32>) -> u32 {
        if self.null_group == NONE {
            self.null_group = (group_count + new.len()) as u32;
            new.push(row as u32);
        }
        self.null_group
    }

    #[cold]
    fn add_page(&mut self, entry: usize) -> u32 {
        let page = (self.slots.len() >> PAGE_BITS) as u32;
        self.directory[entry] = page;
        self.slots.resize(self.slots.len() + PAGE_VALUES, NONE);
        page
    }

    /// Extends the directory to these pages. False if it would become too large.
    fn cover(&mut self, least: i64, greatest: i64) -> bool {
        let length = self.directory.len() as i64;
        let (first, last) = if length == 0 {
            (least, greatest)
        } else {
            (least.min(self.first_page), greatest.max(self.first_page + length - 1))
        };
        let needed = last - first + 1;
        let used = (self.slots.len() >> PAGE_BITS) as i64;
        let most = DIRECTORY_PAGES_MAX.min(DIRECTORY_PAGES_MIN.max(DIRECTORY_PAGES_PER_PAGE * used));
        if needed > most {
            return false;
        }
        let mut first = first;
        if length > 0 && first < self.first_page {
            // The directory doubles, so that keys in descending order do not move it for every page.
            first -= length.min(most - needed);
            self.directory.splice(0..0, std::iter::repeat_n(NONE, (self.first_page - first) as usize));
        }
        let needed = last - first + 1;
        self.first_page = first;
        if needed > self.directory.len() as i64 {
            self.directory.resize(needed as usize, NONE);
        }
        true
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        (self.directory.capacity() + self.slots.capacity()) * 4
    }
}

/// The least and greatest value that is not null.
pub(crate) fn bounds(values: &[i64], valid: Option<&[bool]>) -> Option<(i64, i64)> {
    let none = (i64::MAX, i64::MIN);
    let (least, greatest) = match valid {
        None => values.iter().fold(none, |(least, greatest), value| (least.min(*value), greatest.max(*value))),
        Some(valid) => values.iter().zip(valid).fold(none, |(least, greatest), (value, valid)| {
            if *valid { (least.min(*value), greatest.max(*value)) } else { (least, greatest) }
        }),
    };
    (least <= greatest).then_some((least, greatest))
}
