//! Access control in manifests and in records.

use braid_base::{ColumnId, Random, SchemaId, SeededRandom, TableId};

use super::super::*;
use super::{manifest_of, random_table, reseal};
use crate::access::{
    AccessChange, AccessEntry, AccessKey, AccessObject, AclItem, DefaultsKind, DefaultsSubject, Membership, Privileges,
    RoleAttributes, RoleDef, RoleId, SettingsSubject,
};

const FIRST_ROLE: u32 = FIRST_TYPE_OID + 1000;

fn role(number: u32) -> RoleDef {
    RoleDef {
        id: RoleId(FIRST_ROLE + number),
        name: format!("role {number} ä"),
        attributes: RoleAttributes::default(),
        connection_limit: -1,
        password: None,
        valid_until_us: None,
        settings: Vec::new(),
    }
}

/// Roles, of which each is a member of earlier ones only, and owners and privileges of anything, whether it is there or not.
pub(super) fn random_access(random: &mut SeededRandom) -> AccessControl {
    let mut entries: Vec<AccessEntry> = Vec::new();
    let count = random.below(5) as u32;
    for number in 0..count {
        entries.push(AccessEntry::Role(RoleDef {
            attributes: RoleAttributes::from_bits(random.below(128) as u8).unwrap(),
            connection_limit: random.next_u64() as i32,
            password: random.chance(1, 2).then(|| format!("SCRAM-SHA-256$4096:{number}")),
            valid_until_us: random.chance(1, 2).then(|| random.next_u64() as i64),
            settings: (0..random.below(3)).map(|i| (format!("setting {i}"), "ä".repeat(i as usize))).collect(),
            ..role(number)
        }));
        if number > 0 && random.chance(1, 2) {
            let group = RoleId(FIRST_ROLE + random.below(number.into()) as u32);
            let (member, grantor) = (RoleId(FIRST_ROLE + number), RoleId::BOOTSTRAP);
            let is_admin = random.chance(1, 2);
            entries.push(AccessEntry::Membership(Membership { role: group, member, grantor, is_admin }));
        }
    }
    for _ in 0..random.below(8) {
        let any_role = |random: &mut SeededRandom| match count {
            0 => RoleId::BOOTSTRAP,
            count => RoleId(FIRST_ROLE + random.below(count.into()) as u32),
        };
        let id = TableId(random.below(20) as u32);
        let object = match random.below(5) {
            0 => AccessObject::Relation(id),
            1 => AccessObject::Column(id, ColumnId(random.below(5) as u16)),
            2 => AccessObject::Schema(SchemaId(id.0)),
            3 => AccessObject::Type(random.next_u64() as u32),
            _ => AccessObject::Database,
        };
        let item = |random: &mut SeededRandom| {
            let privileges = Privileges::from_bits(1 + random.below(4095) as u16).unwrap();
            let grantable = privileges & Privileges::from_bits(random.below(4096) as u16).unwrap();
            let grantee = if random.chance(1, 3) { RoleId::PUBLIC } else { any_role(random) };
            AclItem { grantee, grantor: any_role(random), privileges, grantable }
        };
        let acl = (0..random.below(3)).map(|_| item(random)).collect();
        entries.push(match random.below(4) {
            0 => AccessEntry::Owner { object, owner: any_role(random) },
            1 => AccessEntry::Privileges { object, acl },
            2 => {
                let role = random.chance(1, 2).then(|| any_role(random));
                let subject = SettingsSubject { role, is_of_database: random.chance(1, 2) };
                let settings = (0..random.below(3)).map(|i| (format!("setting {i}"), "ä".repeat(i as usize)));
                AccessEntry::Settings { subject, settings: settings.collect() }
            }
            _ => {
                let (_, kind) = DefaultsKind::LETTERS[random.below(5) as usize];
                let schema = random.chance(1, 2).then_some(SchemaId(id.0));
                AccessEntry::Defaults { subject: DefaultsSubject { creator: any_role(random), schema, kind }, acl }
            }
        });
    }
    access_of(entries)
}

fn access_of(entries: impl IntoIterator<Item = AccessEntry>) -> AccessControl {
    AccessControl::new(entries.into_iter().map(|entry| (entry.key(), Arc::new(entry))).collect())
}

/// The manifest without its padding, to be forged.
fn unpadded(manifest: &Manifest) -> Vec<u8> {
    let mut bytes = manifest.encode();
    bytes.truncate(u64::from_le_bytes(bytes[24..32].try_into().unwrap()) as usize);
    bytes
}

fn empty_manifest() -> Manifest {
    let mut manifest = manifest_of(random_table(1, 0, &mut SeededRandom::new(1)));
    manifest.tables.clear();
    manifest
}

#[test]
fn forged_access_control_is_refused() {
    let mut manifest = empty_manifest();
    let owner = |object| AccessEntry::Owner { object, owner: RoleId::BOOTSTRAP };
    manifest.access = access_of([owner(AccessObject::Schema(SchemaId(1))), owner(AccessObject::Type(1))]);
    assert_eq!(Manifest::decode(&manifest.encode()).as_ref(), Ok(&manifest));
    let first = HEADER_BYTES + 8 + 8 + 4 * 4 + 4;
    let refused = |what: &str, forge: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = unpadded(&manifest);
        forge(&mut bytes);
        reseal(&mut bytes);
        let decoded = Manifest::decode(&bytes);
        assert!(matches!(decoded, Err(ManifestError::Malformed { .. })), "{what}: {decoded:?}");
    };
    let entry = 1 + 1 + 4 + 4;
    refused("an unknown kind", &|bytes| bytes[first] = 7);
    refused("no kind", &|bytes| bytes[first] = 0);
    refused("an object of unknown kind", &|bytes| bytes[first + 1] = 6);
    refused("entries out of order", &|bytes| bytes[first] = 4);
    refused("two entries about one thing", &|bytes| bytes.copy_within(first..first + entry, first + entry));
    refused("an owner that does not exist", &|bytes| bytes[first + 1 + 1 + 4 + 3] = 0x50);
    refused("more entries than there are", &|bytes| bytes[first - 4] = 3);
}

#[test]
fn what_does_not_go_together_is_refused() {
    let member = |role: u32, member: u32| {
        let (role, member) = (RoleId(FIRST_ROLE + role), RoleId(FIRST_ROLE + member));
        AccessEntry::Membership(Membership { role, member, grantor: RoleId::BOOTSTRAP, is_admin: false })
    };
    let roles = || [AccessEntry::Role(role(0)), AccessEntry::Role(role(1))];
    let decoded = |entries: Vec<AccessEntry>| {
        let manifest = Manifest { access: access_of(entries), ..empty_manifest() };
        Manifest::decode(&manifest.encode()).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(decoded([&roles()[..], &[member(0, 1)]].concat()), Ok(()));
    let refused = |what: &str, entries: Vec<AccessEntry>| {
        let error = decoded(entries).unwrap_err();
        assert!(error.contains(what), "{error}");
    };
    refused("is a member of itself", [&roles()[..], &[member(0, 1), member(1, 0)]].concat());
    refused("does not exist", [&roles()[..], &[member(0, 2)]].concat());
    let namesake = RoleDef { name: role(0).name, ..role(1) };
    refused("are called", vec![AccessEntry::Role(role(0)), AccessEntry::Role(namesake)]);
    refused("is no name of a role", vec![AccessEntry::Role(RoleDef { name: String::new(), ..role(0) })]);
    let (grantee, grantor) = (RoleId::PUBLIC, RoleId::BOOTSTRAP);
    let item = AclItem { grantee, grantor, privileges: Privileges::SELECT, grantable: Privileges::INSERT };
    let list = |item| vec![AccessEntry::Privileges { object: AccessObject::Database, acl: vec![item] }];
    refused("are granted on", list(item));
    refused("are granted on", list(AclItem { privileges: Privileges::NONE, grantable: Privileges::NONE, ..item }));
}

#[test]
fn records_change_single_entries() {
    let mut manifest = empty_manifest();
    manifest.access = access_of([AccessEntry::Role(role(0)), AccessEntry::Role(role(1))]);
    let renamed = RoleDef { name: "another".to_owned(), ..role(1) };
    let changes: Vec<AccessChange> = vec![
        (AccessKey::Role(role(0).id), None),
        (AccessKey::Role(role(1).id), Some(Arc::new(AccessEntry::Role(renamed.clone())))),
    ];
    let record = CommitRecord {
        sequence: manifest.sequence + 1,
        next_ids: manifest.next_ids,
        types: None,
        schemas: None,
        sequences: None,
        views: None,
        dropped: Vec::new(),
        changed: Vec::new(),
        comments: Vec::new(),
        access: changes,
        domains: Vec::new(),
    };
    let bytes = record.encode();
    let before = manifest.access.clone();
    manifest.apply(&bytes).unwrap();
    assert_eq!(manifest.access.roles().collect::<Vec<_>>(), [&renamed]);
    // A record of version 7 ends before the entries.
    let without = CommitRecord { sequence: manifest.sequence + 1, access: Vec::new(), ..record };
    let mut bytes = without.encode();
    bytes.truncate(bytes.len() - 4);
    let mut older = Manifest { access: before.clone(), ..manifest };
    older.apply(&bytes).unwrap();
    assert_eq!(older.access, before);
}
