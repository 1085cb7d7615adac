{{ config(materialized='view') }}
select distinct customer from {{ ref('eph') }}
