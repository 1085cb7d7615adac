{{ config(materialized='materialized_view') }}
select status, sum(amount) as total from {{ ref('orders') }} group by status
