{{ config(materialized='incremental', unique_key='placed_on', on_schema_change='append_new_columns') }}
select placed_on, sum(amount) as total {% if var('more', false) %}, count(*) as n{% endif %} from {{ ref('orders') }}
{% if is_incremental() %} where placed_on >= (select max(placed_on) from {{ this }}) {% endif %}
group by placed_on
