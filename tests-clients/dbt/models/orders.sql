{{ config(materialized='view') }}
select id, customer, coalesce(amount, 0)::numeric(10,2) as amount, placed_on::date as placed_on, status from {{ ref('raw_orders') }}
