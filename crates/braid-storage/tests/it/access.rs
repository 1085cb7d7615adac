//! Access control in transactions: what commits exclude, what goes with what is dropped, and what is there after a restart.

use braid_base::{ColumnId, SchemaId};
use braid_storage::{
    AccessEntry, AccessKey, AccessObject, Acl, AclItem, Catalog, DefaultsKind, Membership, Privileges, RoleAttributes,
    RoleDef, RoleId, Store, StoreError, WriteSet,
};

use crate::test_table::{directory_in_memory, new_table, open, open_again};

fn create_role(writes: &mut WriteSet, view: &Catalog, name: &str) -> RoleId {
    let id = writes.new_role_id().unwrap();
    let attributes = RoleAttributes { inherits: true, can_log_in: true, ..RoleAttributes::default() };
    let (connection_limit, password, valid_until_us, settings) = (-1, Some("SCRAM-SHA-256$x".to_owned()), None, vec![]);
    let name = name.to_owned();
    let role = RoleDef { id, name, attributes, connection_limit, password, valid_until_us, settings };
    writes.set_access(view, AccessEntry::Role(role));
    id
}

/// Creates a role in a transaction of its own.
async fn committed_role(store: &Store, name: &str) -> RoleId {
    let mut writes = store.write_set();
    let id = create_role(&mut writes, &store.snapshot(), name);
    writes.commit().await.unwrap();
    id
}

fn grant(grantee: RoleId, privileges: Privileges) -> Acl {
    vec![AclItem { grantee, grantor: RoleId::BOOTSTRAP, privileges, grantable: Privileges::NONE }]
}

fn names(catalog: &Catalog) -> Vec<&str> {
    catalog.access().roles().map(|role| &*role.name).collect()
}

#[tokio::test]
async fn a_transaction_sees_its_roles_and_others_see_them_after_its_commit() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    assert!(store.snapshot().access().is_empty());
    let mut writes = store.write_set();
    let alice = create_role(&mut writes, &store.snapshot(), "alice");
    let view = writes.view(&store.snapshot());
    assert_eq!(names(&view), ["alice"]);
    assert_eq!(view.access().role(alice).unwrap().name, "alice");
    assert!(store.snapshot().access().is_empty());
    writes.commit().await.unwrap();
    assert_eq!(names(&store.snapshot()), ["alice"]);
    let number = store.snapshot().access_changed();
    store.create_table(new_table("t")).await.unwrap();
    assert_eq!(store.snapshot().access_changed(), number, "no role has changed");
    drop(store);
    let store = open_again(temp.path()).await.unwrap();
    assert_eq!(names(&store.snapshot()), ["alice"]);
    assert_eq!(store.snapshot().access().role_named("alice").map(|role| role.id), Some(alice));
}

#[tokio::test]
async fn transactions_that_change_the_same_entry_or_take_the_same_name_exclude_each_other() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    let (mut one, mut other) = (store.write_set(), store.write_set());
    let before = store.snapshot();
    create_role(&mut one, &before, "alice");
    create_role(&mut other, &before, "alice");
    one.commit().await.unwrap();
    let conflict = other.commit().await.unwrap_err();
    assert!(matches!(&conflict, StoreError::Conflict { what } if what.contains("alice")), "{conflict:?}");

    let bob = committed_role(&store, "bob").await;
    let (mut one, mut other) = (store.write_set(), store.write_set());
    let before = store.snapshot();
    one.remove_access(&before, AccessKey::Role(bob));
    let owner = AccessEntry::Owner { object: AccessObject::Database, owner: bob };
    other.set_access(&before, owner);
    one.commit().await.unwrap();
    let conflict = other.commit().await.unwrap_err();
    assert!(matches!(&conflict, StoreError::Conflict { what } if what.contains("does not exist")), "{conflict:?}");

    let (mut one, mut other) = (store.write_set(), store.write_set());
    let before = store.snapshot();
    let privileges = |acl| AccessEntry::Privileges { object: AccessObject::Database, acl };
    one.set_access(&before, privileges(grant(RoleId::PUBLIC, Privileges::CONNECT)));
    other.set_access(&before, privileges(grant(RoleId::PUBLIC, Privileges::TEMPORARY)));
    one.commit().await.unwrap();
    assert!(matches!(other.commit().await, Err(StoreError::Conflict { .. })));
    let snapshot = store.snapshot();
    assert_eq!(snapshot.access().acl(AccessObject::Database), Some(&grant(RoleId::PUBLIC, Privileges::CONNECT)));
}

#[tokio::test]
async fn members_of_each_other_are_refused_also_of_two_transactions() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    let (alice, bob) = (committed_role(&store, "alice").await, committed_role(&store, "bob").await);
    let member =
        |role, member| AccessEntry::Membership(Membership { role, member, grantor: RoleId::BOOTSTRAP, is_admin: true });
    let (mut one, mut other) = (store.write_set(), store.write_set());
    let before = store.snapshot();
    one.set_access(&before, member(alice, bob));
    other.set_access(&before, member(bob, alice));
    one.commit().await.unwrap();
    assert!(matches!(other.commit().await, Err(StoreError::Conflict { .. })));
    assert_eq!(store.snapshot().access().memberships().count(), 1);
}

#[tokio::test]
async fn owners_and_privileges_go_with_what_they_are_of() {
    let temp = directory_in_memory();
    let store = open(temp.path()).unwrap();
    let alice = committed_role(&store, "alice").await;
    let mut writes = store.write_set();
    let view = store.snapshot();
    let table = writes.create_table(&view, new_table("t")).unwrap();
    let schema = writes.create_schema(&view, "s").unwrap();
    let new = writes.take_new_objects();
    assert_eq!(new.iter().map(|new| new.kind).collect::<Vec<_>>(), [DefaultsKind::Relation, DefaultsKind::Schema]);
    assert!(writes.take_new_objects().is_empty(), "each is told once");
    for new in new {
        writes.set_access(&view, AccessEntry::Owner { object: new.object, owner: alice });
    }
    let column = AccessObject::Column(table.id, ColumnId(0));
    writes.set_access(&view, AccessEntry::Privileges { object: column, acl: grant(alice, Privileges::SELECT) });
    writes.commit().await.unwrap();
    drop(store);
    let store = open_again(temp.path()).await.unwrap();
    let (relation, schema_object) = (AccessObject::Relation(table.id), AccessObject::Schema(schema));
    let snapshot = store.snapshot();
    assert_eq!((snapshot.access().owner(relation), snapshot.access().owner(schema_object)), (alice, alice));
    assert_eq!(snapshot.access().owner(AccessObject::Schema(SchemaId::PUBLIC)), RoleId::DATABASE_OWNER);
    assert_eq!(snapshot.access().acl(column).map(Vec::len), Some(1));
    let mut writes = store.write_set();
    writes.drop_table(&snapshot, "t").unwrap();
    assert_eq!(writes.view(&snapshot).access().owners().count(), 1, "the transaction sees what is left");
    writes.commit().await.unwrap();
    let snapshot = store.snapshot();
    assert_eq!(snapshot.access().owners().collect::<Vec<_>>(), [(schema_object, alice)]);
    assert_eq!(snapshot.access().acls().count(), 0);
    // An owner that is set back is none that is kept.
    let mut writes = store.write_set();
    writes.set_access(&snapshot, AccessEntry::Owner { object: schema_object, owner: RoleId::BOOTSTRAP });
    writes.commit().await.unwrap();
    assert_eq!(store.snapshot().access().owners().count(), 0);
}
