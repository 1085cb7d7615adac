//! Domains: random ones, and manifests that name what is not there.

use braid_base::{DomainCheck, DomainType};

use super::*;
use crate::ColumnDomain;

/// Some domains: of a type of PostgreSQL, of an enumerated type, or of a domain before.
pub(super) fn random_domains(types: &[EnumType], random: &mut SeededRandom) -> Domains {
    let mut domains = Domains::new();
    for number in 0..random.below(4) as u32 {
        let oid = FIRST_TYPE_OID + 350 + 10 * number;
        let base_oid = match (random.below(3), domains.last_key_value()) {
            (0, Some((known, _))) => *known,
            (1, _) if !types.is_empty() => types[0].oid,
            _ => 23,
        };
        let check = |at: u32| DomainCheck {
            oid: oid + 2 + at,
            name: format!("check {at} ä"),
            condition: "VALUE > 0".to_owned(),
            validated: at > 0,
        };
        let domain = DomainType {
            oid,
            array_oid: oid + 1,
            schema: SchemaId::PUBLIC,
            name: format!("domain {number}"),
            array_name: format!("_domain {number}"),
            base_oid,
            modifier: random.below(9) as i32 - 1,
            is_not_null: random.chance(1, 2),
            default: random.chance(1, 2).then(|| "1 + 1".to_owned()),
            checks: (0..random.below(3) as u32).map(check).collect(),
            revision: random.below(3) as u32,
        };
        domains.insert(oid, Arc::new(domain));
    }
    domains
}

/// Makes some columns those of domains.
pub(super) fn give_domains(tables: &mut [ManifestTable], domains: &Domains, random: &mut SeededRandom) {
    let Some((oid, domain)) = domains.last_key_value() else { return };
    for column in tables.iter_mut().flat_map(|table| &mut table.def.columns) {
        if random.chance(1, 3) {
            column.domain = Some(ColumnDomain { oid: *oid, revision: domain.revision });
        }
    }
}

#[test]
fn a_manifest_with_domains_that_do_not_go_together_is_refused() {
    let manifest = (0..).map(|seed| random_manifest(&mut SeededRandom::new(seed)));
    let has_all = |manifest: &Manifest| {
        let columns = manifest.tables.iter().flat_map(|table| &table.def.columns);
        manifest.domains.len() > 1
            && columns.into_iter().any(|column| column.domain.is_some())
            && manifest.domains.values().next().is_some_and(|domain| domain.checks.len() == 2)
    };
    let manifest = manifest.into_iter().find(has_all).unwrap();
    assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest.clone()));
    let refused = |what: &str, change: &dyn Fn(&mut Manifest)| {
        let mut forged = manifest.clone();
        change(&mut forged);
        assert!(Manifest::decode(&forged.encode()).is_err(), "{what}");
    };
    let first = *manifest.domains.keys().next().unwrap();
    let second = *manifest.domains.keys().nth(1).unwrap();
    let changed = |change: &dyn Fn(&mut DomainType)| {
        let change = |manifest: &mut Manifest| change(Arc::make_mut(manifest.domains.get_mut(&first).unwrap()));
        let mut forged = manifest.clone();
        change(&mut forged);
        Manifest::decode(&forged.encode())
    };
    for (what, change) in [
        ("no name", (|domain| domain.name.clear()) as fn(&mut DomainType)),
        ("the name of the array type", |domain| domain.array_name = domain.name.clone()),
        ("an unknown schema", |domain| domain.schema = SchemaId(9_999)),
        ("a type that does not exist", |domain| domain.base_oid = FIRST_TYPE_OID + 99),
        ("a type that is no older", |domain| domain.base_oid = domain.oid),
        ("an oid that is not given out", |domain| domain.array_oid = FIRST_TYPE_OID + 400),
        ("twice the same oid", |domain| domain.checks[0].oid = domain.array_oid),
        ("twice the same check constraint", |domain| domain.checks[0].name = domain.checks[1].name.clone()),
        ("a condition that is too long", |domain| domain.checks[0].condition = "x".repeat(65_537)),
        ("too many check constraints", |domain| {
            let check =
                |at: u32| DomainCheck { oid: FIRST_TYPE_OID + at, name: at.to_string(), ..domain.checks[0].clone() };
            domain.checks = (1000..2000).map(check).collect();
        }),
    ] {
        assert!(changed(&change).is_err(), "{what}");
    }
    refused("a name of another domain", &|m| {
        let name = m.domains[&second].name.clone();
        Arc::make_mut(m.domains.get_mut(&first).unwrap()).name = name;
    });
    refused("a domain that is gone", &|m| m.domains.clear());
    refused("another revision than that of the columns", &|m| {
        m.domains.values_mut().for_each(|domain| Arc::make_mut(domain).revision += 1);
    });
}
