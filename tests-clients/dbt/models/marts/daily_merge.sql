{{ config(materialized='incremental', unique_key='placed_on', incremental_strategy='merge') }}
select placed_on, sum(amount) as total from {{ ref('orders') }} group by placed_on
