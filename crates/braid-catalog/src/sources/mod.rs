//! Rows about tables of users and about the server, beside those that are stored.
//!
//! | module | relations |
//! |---|---|
//! | [`tables`] | `pg_class` |
//! | [`columns`] | `pg_attribute`, `pg_attrdef` |
//! | [`keys`] | `pg_constraint`, `pg_index`, and the names of indexes |
//! | [`foreign_keys`] | `pg_constraint`, `pg_depend` |
//! | [`sequences`] | `pg_sequence`, `pg_depend` |
//! | [`schemas`] | `pg_namespace` |
//! | [`types`] | `pg_type`, `pg_enum` |
//! | [`domains`] | `pg_type`, `pg_constraint` |
//! | [`views`] | `pg_rewrite`, `pg_depend`, and the rows of views in others |
//! | [`comments`] | `pg_description`, `pg_shdescription` |
//! | [`initial_privileges`] | `pg_init_privs` |
//! | [`roles`] | `pg_authid`, `pg_database` |
//! | [`access`] | `pg_auth_members`, `pg_db_role_setting`, `pg_default_acl`; owners and privileges in the rows of objects |
//! | [`shared_dependencies`] | `pg_shdepend` |
//! | [`settings`] | `pg_settings` |
//! | [`cursors`], [`locks`] | `pg_cursors`, `pg_locks` |
//! | [`prepared_statements`] | `pg_prepared_statements` |
//! | [`background_work`] | `pg_stat_bgwriter`, `pg_stat_archiver` |
//! | [`sessions`] | `pg_stat_activity`, `pg_stat_ssl`, `pg_stat_gssapi` |

mod access;
mod background_work;
mod columns;
mod comments;
mod cursors;
mod dependencies;
mod domains;
mod foreign_keys;
mod initial_privileges;
mod keys;
mod locks;
mod prepared_statements;
mod roles;
mod schemas;
pub(crate) mod sequences;
mod sessions;
mod settings;
mod shared_dependencies;
mod tables;
mod types;
mod views;

use braid_storage::Catalog;

use crate::named_row::NamedRow;
use crate::server_facts::ServerFacts;
use crate::type_references::ShownTypes;
pub(crate) use keys::all_keys;
pub(crate) use schemas::has_changed_public;

/// The rows of a relation of `pg_catalog` that are not stored.
pub(crate) fn rows(relation: &str, catalog: &Catalog, facts: &dyn ServerFacts) -> Vec<NamedRow> {
    let with_shown_types = |rows: &dyn Fn(&ShownTypes<'_>) -> Vec<NamedRow>| {
        let path = facts.search_path();
        rows(&ShownTypes { catalog, path: &path })
    };
    match relation {
        "pg_class" => access::with_relation_owners(tables::classes(catalog, facts), (catalog, facts)),
        "pg_attribute" => access::with_column_lists(columns::attributes(catalog, facts), (catalog, facts)),
        "pg_attrdef" => with_shown_types(&columns::defaults),
        "pg_constraint" => with_shown_types(&|shown| {
            [keys::constraints(shown), foreign_keys::constraints(catalog), domains::constraints(shown)].concat()
        }),
        "pg_index" => with_shown_types(&keys::indexes),
        "pg_namespace" => schemas::schemas(catalog, facts),
        "pg_sequence" => sequences::sequences(catalog),
        "pg_depend" => {
            let of_constraints = foreign_keys::dependencies(catalog);
            let of_types = dependencies::on_types(catalog);
            [sequences::dependencies(catalog), views::dependencies(catalog), of_constraints, of_types].concat()
        }
        "pg_init_privs" => initial_privileges::initial_privileges(catalog, facts),
        "pg_type" => with_shown_types(&|shown| types::types(shown, facts)),
        "pg_enum" => types::labels(catalog),
        "pg_rewrite" => views::rules(catalog),
        "pg_description" => comments::descriptions(catalog),
        "pg_shdescription" => comments::shared_descriptions(catalog, facts),
        "pg_auth_members" => access::memberships(catalog),
        "pg_authid" => roles::roles(catalog, facts),
        "pg_database" => roles::databases(catalog, facts),
        "pg_db_role_setting" => access::kept_settings(catalog),
        "pg_default_acl" => access::default_lists(catalog, facts),
        "pg_cursors" => cursors::cursors(facts),
        "pg_locks" => locks::locks(facts),
        "pg_prepared_statements" => prepared_statements::prepared_statements(facts),
        "pg_shdepend" => shared_dependencies::shared_dependencies(catalog),
        "pg_settings" => settings::settings(facts),
        "pg_stat_activity" => sessions::sessions(facts),
        "pg_stat_archiver" => background_work::archiver(facts),
        "pg_stat_bgwriter" => background_work::background_writer(facts),
        "pg_stat_gssapi" => sessions::gssapi(facts),
        "pg_stat_ssl" => sessions::encryption(facts),
        _ => Vec::new(),
    }
}
