//! The columns of TPC-DS's 17 dimension tables (TPC-DS specification 2.13, section 2.4): names and types.

use braid_storage::ColumnType;

use ColumnType::{Char, Date, Integer, Varchar};

use super::Columns;

/// Offsets from UTC and percentages of taxes.
const RATE: ColumnType = ColumnType::Numeric { precision: 5, scale: 2 };

const MONEY: ColumnType = ColumnType::Numeric { precision: 7, scale: 2 };

const COST: ColumnType = ColumnType::Numeric { precision: 15, scale: 2 };

pub(super) const DATE_DIM: Columns = &[
    ("d_date_sk", Integer),
    ("d_date_id", Char(16)),
    ("d_date", Date),
    ("d_month_seq", Integer),
    ("d_week_seq", Integer),
    ("d_quarter_seq", Integer),
    ("d_year", Integer),
    ("d_dow", Integer),
    ("d_moy", Integer),
    ("d_dom", Integer),
    ("d_qoy", Integer),
    ("d_fy_year", Integer),
    ("d_fy_quarter_seq", Integer),
    ("d_fy_week_seq", Integer),
    ("d_day_name", Char(9)),
    ("d_quarter_name", Char(6)),
    ("d_holiday", Char(1)),
    ("d_weekend", Char(1)),
    ("d_following_holiday", Char(1)),
    ("d_first_dom", Integer),
    ("d_last_dom", Integer),
    ("d_same_day_ly", Integer),
    ("d_same_day_lq", Integer),
    ("d_current_day", Char(1)),
    ("d_current_week", Char(1)),
    ("d_current_month", Char(1)),
    ("d_current_quarter", Char(1)),
    ("d_current_year", Char(1)),
];

pub(super) const TIME_DIM: Columns = &[
    ("t_time_sk", Integer),
    ("t_time_id", Char(16)),
    ("t_time", Integer),
    ("t_hour", Integer),
    ("t_minute", Integer),
    ("t_second", Integer),
    ("t_am_pm", Char(2)),
    ("t_shift", Char(20)),
    ("t_sub_shift", Char(20)),
    ("t_meal_time", Char(20)),
];

pub(super) const INCOME_BAND: Columns =
    &[("ib_income_band_sk", Integer), ("ib_lower_bound", Integer), ("ib_upper_bound", Integer)];

pub(super) const REASON: Columns = &[("r_reason_sk", Integer), ("r_reason_id", Char(16)), ("r_reason_desc", Char(100))];

pub(super) const SHIP_MODE: Columns = &[
    ("sm_ship_mode_sk", Integer),
    ("sm_ship_mode_id", Char(16)),
    ("sm_type", Char(30)),
    ("sm_code", Char(10)),
    ("sm_carrier", Char(20)),
    ("sm_contract", Char(20)),
];

pub(super) const HOUSEHOLD_DEMOGRAPHICS: Columns = &[
    ("hd_demo_sk", Integer),
    ("hd_income_band_sk", Integer),
    ("hd_buy_potential", Char(15)),
    ("hd_dep_count", Integer),
    ("hd_vehicle_count", Integer),
];

pub(super) const CUSTOMER_DEMOGRAPHICS: Columns = &[
    ("cd_demo_sk", Integer),
    ("cd_gender", Char(1)),
    ("cd_marital_status", Char(1)),
    ("cd_education_status", Char(20)),
    ("cd_purchase_estimate", Integer),
    ("cd_credit_rating", Char(10)),
    ("cd_dep_count", Integer),
    ("cd_dep_employed_count", Integer),
    ("cd_dep_college_count", Integer),
];

pub(super) const CUSTOMER_ADDRESS: Columns = &[
    ("ca_address_sk", Integer),
    ("ca_address_id", Char(16)),
    ("ca_street_number", Char(10)),
    ("ca_street_name", Varchar(60)),
    ("ca_street_type", Char(15)),
    ("ca_suite_number", Char(10)),
    ("ca_city", Varchar(60)),
    ("ca_county", Varchar(30)),
    ("ca_state", Char(2)),
    ("ca_zip", Char(10)),
    ("ca_country", Varchar(20)),
    ("ca_gmt_offset", RATE),
    ("ca_location_type", Char(20)),
];

pub(super) const CUSTOMER: Columns = &[
    ("c_customer_sk", Integer),
    ("c_customer_id", Char(16)),
    ("c_current_cdemo_sk", Integer),
    ("c_current_hdemo_sk", Integer),
    ("c_current_addr_sk", Integer),
    ("c_first_shipto_date_sk", Integer),
    ("c_first_sales_date_sk", Integer),
    ("c_salutation", Char(10)),
    ("c_first_name", Char(20)),
    ("c_last_name", Char(30)),
    ("c_preferred_cust_flag", Char(1)),
    ("c_birth_day", Integer),
    ("c_birth_month", Integer),
    ("c_birth_year", Integer),
    ("c_birth_country", Varchar(20)),
    ("c_login", Char(13)),
    ("c_email_address", Char(50)),
    ("c_last_review_date_sk", Integer),
];

pub(super) const ITEM: Columns = &[
    ("i_item_sk", Integer),
    ("i_item_id", Char(16)),
    ("i_rec_start_date", Date),
    ("i_rec_end_date", Date),
    ("i_item_desc", Varchar(200)),
    ("i_current_price", MONEY),
    ("i_wholesale_cost", MONEY),
    ("i_brand_id", Integer),
    ("i_brand", Char(50)),
    ("i_class_id", Integer),
    ("i_class", Char(50)),
    ("i_category_id", Integer),
    ("i_category", Char(50)),
    ("i_manufact_id", Integer),
    ("i_manufact", Char(50)),
    ("i_size", Char(20)),
    ("i_formulation", Char(20)),
    ("i_color", Char(20)),
    ("i_units", Char(10)),
    ("i_container", Char(10)),
    ("i_manager_id", Integer),
    ("i_product_name", Char(50)),
];

pub(super) const PROMOTION: Columns = &[
    ("p_promo_sk", Integer),
    ("p_promo_id", Char(16)),
    ("p_start_date_sk", Integer),
    ("p_end_date_sk", Integer),
    ("p_item_sk", Integer),
    ("p_cost", COST),
    ("p_response_target", Integer),
    ("p_promo_name", Char(50)),
    ("p_channel_dmail", Char(1)),
    ("p_channel_email", Char(1)),
    ("p_channel_catalog", Char(1)),
    ("p_channel_tv", Char(1)),
    ("p_channel_radio", Char(1)),
    ("p_channel_press", Char(1)),
    ("p_channel_event", Char(1)),
    ("p_channel_demo", Char(1)),
    ("p_channel_details", Varchar(100)),
    ("p_purpose", Char(15)),
    ("p_discount_active", Char(1)),
];

pub(super) const STORE: Columns = &[
    ("s_store_sk", Integer),
    ("s_store_id", Char(16)),
    ("s_rec_start_date", Date),
    ("s_rec_end_date", Date),
    ("s_closed_date_sk", Integer),
    ("s_store_name", Varchar(50)),
    ("s_number_employees", Integer),
    ("s_floor_space", Integer),
    ("s_hours", Char(20)),
    ("s_manager", Varchar(40)),
    ("s_market_id", Integer),
    ("s_geography_class", Varchar(100)),
    ("s_market_desc", Varchar(100)),
    ("s_market_manager", Varchar(40)),
    ("s_division_id", Integer),
    ("s_division_name", Varchar(50)),
    ("s_company_id", Integer),
    ("s_company_name", Varchar(50)),
    ("s_street_number", Varchar(10)),
    ("s_street_name", Varchar(60)),
    ("s_street_type", Char(15)),
    ("s_suite_number", Char(10)),
    ("s_city", Varchar(60)),
    ("s_county", Varchar(30)),
    ("s_state", Char(2)),
    ("s_zip", Char(10)),
    ("s_country", Varchar(20)),
    ("s_gmt_offset", RATE),
    ("s_tax_precentage", RATE),
];

pub(super) const WAREHOUSE: Columns = &[
    ("w_warehouse_sk", Integer),
    ("w_warehouse_id", Char(16)),
    ("w_warehouse_name", Varchar(20)),
    ("w_warehouse_sq_ft", Integer),
    ("w_street_number", Char(10)),
    ("w_street_name", Varchar(60)),
    ("w_street_type", Char(15)),
    ("w_suite_number", Char(10)),
    ("w_city", Varchar(60)),
    ("w_county", Varchar(30)),
    ("w_state", Char(2)),
    ("w_zip", Char(10)),
    ("w_country", Varchar(20)),
    ("w_gmt_offset", RATE),
];

pub(super) const CALL_CENTER: Columns = &[
    ("cc_call_center_sk", Integer),
    ("cc_call_center_id", Char(16)),
    ("cc_rec_start_date", Date),
    ("cc_rec_end_date", Date),
    ("cc_closed_date_sk", Integer),
    ("cc_open_date_sk", Integer),
    ("cc_name", Varchar(50)),
    ("cc_class", Varchar(50)),
    ("cc_employees", Integer),
    ("cc_sq_ft", Integer),
    ("cc_hours", Char(20)),
    ("cc_manager", Varchar(40)),
    ("cc_mkt_id", Integer),
    ("cc_mkt_class", Char(50)),
    ("cc_mkt_desc", Varchar(100)),
    ("cc_market_manager", Varchar(40)),
    ("cc_division", Integer),
    ("cc_division_name", Varchar(50)),
    ("cc_company", Integer),
    ("cc_company_name", Char(50)),
    ("cc_street_number", Char(10)),
    ("cc_street_name", Varchar(60)),
    ("cc_street_type", Char(15)),
    ("cc_suite_number", Char(10)),
    ("cc_city", Varchar(60)),
    ("cc_county", Varchar(30)),
    ("cc_state", Char(2)),
    ("cc_zip", Char(10)),
    ("cc_country", Varchar(20)),
    ("cc_gmt_offset", RATE),
    ("cc_tax_percentage", RATE),
];

pub(super) const CATALOG_PAGE: Columns = &[
    ("cp_catalog_page_sk", Integer),
    ("cp_catalog_page_id", Char(16)),
    ("cp_start_date_sk", Integer),
    ("cp_end_date_sk", Integer),
    ("cp_department", Varchar(50)),
    ("cp_catalog_number", Integer),
    ("cp_catalog_page_number", Integer),
    ("cp_description", Varchar(100)),
    ("cp_type", Varchar(100)),
];

pub(super) const WEB_SITE: Columns = &[
    ("web_site_sk", Integer),
    ("web_site_id", Char(16)),
    ("web_rec_start_date", Date),
    ("web_rec_end_date", Date),
    ("web_name", Varchar(50)),
    ("web_open_date_sk", Integer),
    ("web_close_date_sk", Integer),
    ("web_class", Varchar(50)),
    ("web_manager", Varchar(40)),
    ("web_mkt_id", Integer),
    ("web_mkt_class", Varchar(50)),
    ("web_mkt_desc", Varchar(100)),
    ("web_market_manager", Varchar(40)),
    ("web_company_id", Integer),
    ("web_company_name", Char(50)),
    ("web_street_number", Char(10)),
    ("web_street_name", Varchar(60)),
    ("web_street_type", Char(15)),
    ("web_suite_number", Char(10)),
    ("web_city", Varchar(60)),
    ("web_county", Varchar(30)),
    ("web_state", Char(2)),
    ("web_zip", Char(10)),
    ("web_country", Varchar(20)),
    ("web_gmt_offset", RATE),
    ("web_tax_percentage", RATE),
];

pub(super) const WEB_PAGE: Columns = &[
    ("wp_web_page_sk", Integer),
    ("wp_web_page_id", Char(16)),
    ("wp_rec_start_date", Date),
    ("wp_rec_end_date", Date),
    ("wp_creation_date_sk", Integer),
    ("wp_access_date_sk", Integer),
    ("wp_autogen_flag", Char(1)),
    ("wp_customer_sk", Integer),
    ("wp_url", Varchar(100)),
    ("wp_type", Char(50)),
    ("wp_char_count", Integer),
    ("wp_link_count", Integer),
    ("wp_image_count", Integer),
    ("wp_max_ad_count", Integer),
];
