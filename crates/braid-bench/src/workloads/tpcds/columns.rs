//! The columns of the 24 tables, by the tables' names.
//!
//! Keys are 32-bit; the numbers of orders are 64-bit: at scale 100 000 they pass 2^31.

mod dimensions;
mod facts;

use braid_storage::ColumnType;

/// Names and types of a table's columns.
pub(super) type Columns = &'static [(&'static str, ColumnType)];

/// The columns of a table. Panics on other names.
pub(super) fn of(table: &str) -> Columns {
    match table {
        "date_dim" => dimensions::DATE_DIM,
        "time_dim" => dimensions::TIME_DIM,
        "income_band" => dimensions::INCOME_BAND,
        "reason" => dimensions::REASON,
        "ship_mode" => dimensions::SHIP_MODE,
        "household_demographics" => dimensions::HOUSEHOLD_DEMOGRAPHICS,
        "customer_demographics" => dimensions::CUSTOMER_DEMOGRAPHICS,
        "customer_address" => dimensions::CUSTOMER_ADDRESS,
        "customer" => dimensions::CUSTOMER,
        "item" => dimensions::ITEM,
        "promotion" => dimensions::PROMOTION,
        "store" => dimensions::STORE,
        "warehouse" => dimensions::WAREHOUSE,
        "call_center" => dimensions::CALL_CENTER,
        "catalog_page" => dimensions::CATALOG_PAGE,
        "web_site" => dimensions::WEB_SITE,
        "web_page" => dimensions::WEB_PAGE,
        "inventory" => facts::INVENTORY,
        "store_sales" => facts::STORE_SALES,
        "store_returns" => facts::STORE_RETURNS,
        "catalog_sales" => facts::CATALOG_SALES,
        "catalog_returns" => facts::CATALOG_RETURNS,
        "web_sales" => facts::WEB_SALES,
        "web_returns" => facts::WEB_RETURNS,
        other => unreachable!("{other} is no table of TPC-DS"),
    }
}
