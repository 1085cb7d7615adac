//! The 24 tables of TPC-DS: names, keys, sizes, rows (TPC-DS specification 2.13, section 2 and appendix A).
//!
//! `tpcdsgen` makes the rows of the specification's `dsdgen`. It makes orders: an order of store and web sales has 8 to 16 rows,
//! one of catalog sales 4 to 14, and a tenth of all rows are returned. `tpcdsgen-arrow` produces exactly the Arrow types of these
//! columns, so that batches are stored without conversion.

use std::fmt;

use braid_storage::{ColumnDef, ColumnType};
use tpcdsgen::config::{Scaling, Session, SessionBuilder, Table};
use tpcdsgen_arrow::{
    CallCenterArrow, CatalogPageArrow, CatalogReturnsArrow, CatalogSalesArrow, CustomerAddressArrow, CustomerArrow,
    CustomerDemographicsArrow, DateDimArrow, HouseholdDemographicsArrow, IncomeBandArrow, InventoryArrow, ItemArrow,
    PromotionArrow, ReasonArrow, ShipModeArrow, StoreArrow, StoreReturnsArrow, StoreSalesArrow, TimeDimArrow,
    WarehouseArrow, WebPageArrow, WebReturnsArrow, WebSalesArrow, WebSiteArrow,
};

use super::columns;
use crate::workloads::generated::{BATCH_ROWS, GeneratedTable, PartBatches};

/// Rows of an order of store sales and web sales: 12 on average.
const ORDER_ROWS: u64 = 12;

/// Rows of an order of catalog sales: 9 on average.
const CATALOG_ORDER_ROWS: u64 = 9;

/// One of this many sold rows is returned.
const SOLD_OF_RETURNED: u64 = 10;

/// One of the 24 tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TpcdsTable {
    /// 73 049 rows: the days of 200 years
    DateDim,
    /// 86 400 rows: the seconds of a day
    TimeDim,
    /// 20 rows
    IncomeBand,
    /// 75 rows
    Reason,
    /// 20 rows
    ShipMode,
    /// 7200 rows
    HouseholdDemographics,
    /// 1 920 800 rows: all combinations of its values
    CustomerDemographics,
    /// 50 000 rows at scale 1
    CustomerAddress,
    /// 100 000 rows at scale 1
    Customer,
    /// 18 000 rows at scale 1
    Item,
    /// 300 rows at scale 1
    Promotion,
    /// 12 rows at scale 1
    Store,
    /// 5 rows at scale 1
    Warehouse,
    /// 6 rows at scale 1
    CallCenter,
    /// 11 718 rows at scale 1
    CatalogPage,
    /// 30 rows at scale 1
    WebSite,
    /// 60 rows at scale 1
    WebPage,
    /// 11 745 000 rows at scale 1: 261 weeks
    Inventory,
    /// about 2 880 000 rows at scale 1
    StoreSales,
    /// about 288 000 rows at scale 1
    StoreReturns,
    /// about 1 440 000 rows at scale 1
    CatalogSales,
    /// about 144 000 rows at scale 1
    CatalogReturns,
    /// about 720 000 rows at scale 1
    WebSales,
    /// about 72 000 rows at scale 1
    WebReturns,
}

impl GeneratedTable for TpcdsTable {
    const BENCHMARK: &'static str = "TPC-DS";

    /// Dimensions first.
    const ALL: &'static [Self] = &[
        Self::DateDim,
        Self::TimeDim,
        Self::IncomeBand,
        Self::Reason,
        Self::ShipMode,
        Self::HouseholdDemographics,
        Self::CustomerDemographics,
        Self::CustomerAddress,
        Self::Customer,
        Self::Item,
        Self::Promotion,
        Self::Store,
        Self::Warehouse,
        Self::CallCenter,
        Self::CatalogPage,
        Self::WebSite,
        Self::WebPage,
        Self::Inventory,
        Self::StoreSales,
        Self::StoreReturns,
        Self::CatalogSales,
        Self::CatalogReturns,
        Self::WebSales,
        Self::WebReturns,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::DateDim => "date_dim",
            Self::TimeDim => "time_dim",
            Self::IncomeBand => "income_band",
            Self::Reason => "reason",
            Self::ShipMode => "ship_mode",
            Self::HouseholdDemographics => "household_demographics",
            Self::CustomerDemographics => "customer_demographics",
            Self::CustomerAddress => "customer_address",
            Self::Customer => "customer",
            Self::Item => "item",
            Self::Promotion => "promotion",
            Self::Store => "store",
            Self::Warehouse => "warehouse",
            Self::CallCenter => "call_center",
            Self::CatalogPage => "catalog_page",
            Self::WebSite => "web_site",
            Self::WebPage => "web_page",
            Self::Inventory => "inventory",
            Self::StoreSales => "store_sales",
            Self::StoreReturns => "store_returns",
            Self::CatalogSales => "catalog_sales",
            Self::CatalogReturns => "catalog_returns",
            Self::WebSales => "web_sales",
            Self::WebReturns => "web_returns",
        }
    }

    /// Keys are NOT NULL, and so are the business keys: second columns of `char(16)`.
    fn columns(self) -> Vec<ColumnDef> {
        let column = |(at, &(name, column_type)): (usize, &(&str, ColumnType))| ColumnDef {
            nullable: !(self.primary_key().contains(&name) || at == 1 && column_type == ColumnType::Char(16)),
            ..ColumnDef::new(name, column_type)
        };
        columns::of(self.name()).iter().enumerate().map(column).collect()
    }

    fn primary_key(self) -> &'static [&'static str] {
        match self {
            Self::DateDim => &["d_date_sk"],
            Self::TimeDim => &["t_time_sk"],
            Self::IncomeBand => &["ib_income_band_sk"],
            Self::Reason => &["r_reason_sk"],
            Self::ShipMode => &["sm_ship_mode_sk"],
            Self::HouseholdDemographics => &["hd_demo_sk"],
            Self::CustomerDemographics => &["cd_demo_sk"],
            Self::CustomerAddress => &["ca_address_sk"],
            Self::Customer => &["c_customer_sk"],
            Self::Item => &["i_item_sk"],
            Self::Promotion => &["p_promo_sk"],
            Self::Store => &["s_store_sk"],
            Self::Warehouse => &["w_warehouse_sk"],
            Self::CallCenter => &["cc_call_center_sk"],
            Self::CatalogPage => &["cp_catalog_page_sk"],
            Self::WebSite => &["web_site_sk"],
            Self::WebPage => &["wp_web_page_sk"],
            Self::Inventory => &["inv_date_sk", "inv_item_sk", "inv_warehouse_sk"],
            Self::StoreSales => &["ss_item_sk", "ss_ticket_number"],
            Self::StoreReturns => &["sr_item_sk", "sr_ticket_number"],
            Self::CatalogSales => &["cs_item_sk", "cs_order_number"],
            Self::CatalogReturns => &["cr_item_sk", "cr_order_number"],
            Self::WebSales => &["ws_item_sk", "ws_order_number"],
            Self::WebReturns => &["wr_item_sk", "wr_order_number"],
        }
    }

    /// Exact, except for sales and returns.
    fn row_count(self, scale: f64) -> u64 {
        let source_rows = self.source_rows(scale);
        match self {
            Self::StoreSales | Self::WebSales => source_rows * ORDER_ROWS,
            Self::CatalogSales => source_rows * CATALOG_ORDER_ROWS,
            Self::StoreReturns | Self::WebReturns => source_rows * ORDER_ROWS / SOLD_OF_RETURNED,
            Self::CatalogReturns => source_rows * CATALOG_ORDER_ROWS / SOLD_OF_RETURNED,
            _ => source_rows,
        }
    }

    fn row_count_slack(self, scale: f64) -> u64 {
        let count = self.row_count(scale);
        if count == self.source_rows(scale) { 0 } else { count / 10 + 100 }
    }

    fn part_count(self, scale: f64, rows: u64) -> u32 {
        let count = self.row_count(scale).div_ceil(rows).min(self.source_rows(scale)).max(1);
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    fn part(self, scale: f64, part: u32, part_count: u32) -> PartBatches {
        let start = |part: u32| self.source_rows(scale) * u64::from(part) / u64::from(part_count);
        let (first, last) = (start(part - 1) + 1, start(part));
        macro_rules! rows {
            ($arrow:ident) => {
                Box::new($arrow::new(session(scale)).with_source_row_range(first, last).with_batch_size(BATCH_ROWS))
            };
        }
        match self {
            Self::DateDim => rows!(DateDimArrow),
            Self::TimeDim => rows!(TimeDimArrow),
            Self::IncomeBand => rows!(IncomeBandArrow),
            Self::Reason => rows!(ReasonArrow),
            Self::ShipMode => rows!(ShipModeArrow),
            Self::HouseholdDemographics => rows!(HouseholdDemographicsArrow),
            Self::CustomerDemographics => rows!(CustomerDemographicsArrow),
            Self::CustomerAddress => rows!(CustomerAddressArrow),
            Self::Customer => rows!(CustomerArrow),
            Self::Item => rows!(ItemArrow),
            Self::Promotion => rows!(PromotionArrow),
            Self::Store => rows!(StoreArrow),
            Self::Warehouse => rows!(WarehouseArrow),
            Self::CallCenter => rows!(CallCenterArrow),
            Self::CatalogPage => rows!(CatalogPageArrow),
            Self::WebSite => rows!(WebSiteArrow),
            Self::WebPage => rows!(WebPageArrow),
            Self::Inventory => rows!(InventoryArrow),
            Self::StoreSales => rows!(StoreSalesArrow),
            Self::StoreReturns => rows!(StoreReturnsArrow),
            Self::CatalogSales => rows!(CatalogSalesArrow),
            Self::CatalogReturns => rows!(CatalogReturnsArrow),
            Self::WebSales => rows!(WebSalesArrow),
            Self::WebReturns => rows!(WebReturnsArrow),
        }
    }
}

impl TpcdsTable {
    /// Number of the generator's rows: those of the table, of sales and returns orders.
    fn source_rows(self, scale: f64) -> u64 {
        let table = match self {
            Self::StoreReturns => Table::StoreSales,
            Self::CatalogReturns => Table::CatalogSales,
            Self::WebReturns => Table::WebSales,
            Self::DateDim => Table::DateDim,
            Self::TimeDim => Table::TimeDim,
            Self::IncomeBand => Table::IncomeBand,
            Self::Reason => Table::Reason,
            Self::ShipMode => Table::ShipMode,
            Self::HouseholdDemographics => Table::HouseholdDemographics,
            Self::CustomerDemographics => Table::CustomerDemographics,
            Self::CustomerAddress => Table::CustomerAddress,
            Self::Customer => Table::Customer,
            Self::Item => Table::Item,
            Self::Promotion => Table::Promotion,
            Self::Store => Table::Store,
            Self::Warehouse => Table::Warehouse,
            Self::CallCenter => Table::CallCenter,
            Self::CatalogPage => Table::CatalogPage,
            Self::WebSite => Table::WebSite,
            Self::WebPage => Table::WebPage,
            Self::Inventory => Table::Inventory,
            Self::StoreSales => Table::StoreSales,
            Self::CatalogSales => Table::CatalogSales,
            Self::WebSales => Table::WebSales,
        };
        Scaling::new(scale).get_row_count(table)
    }
}

fn session(scale: f64) -> Session {
    SessionBuilder::new().with_scale_factor(scale).build().expect("the scale is a number of the permitted range")
}

impl fmt::Display for TpcdsTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::generated::tests::{check_parts, check_tables};

    #[tokio::test]
    async fn batches_have_the_tables_schema_and_its_rows() {
        check_tables::<TpcdsTable>(0.001).await;
    }

    #[test]
    fn parts_in_order_are_the_whole() {
        use TpcdsTable::{CatalogReturns, CatalogSales, Customer, Inventory, Item, StoreReturns, WebReturns, WebSales};
        for table in [Customer, Item, Inventory, StoreReturns, CatalogSales, CatalogReturns, WebSales, WebReturns] {
            check_parts(table, 0.001);
        }
    }
}
