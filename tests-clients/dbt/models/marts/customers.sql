{{ config(indexes=[{'columns': ['customer'], 'unique': True}, {'columns': ['total', 'orders'], 'type': 'btree'}]) }}
select customer, sum(amount) as total, count(*) as orders, max(placed_on) as last_order from {{ ref('orders') }} group by customer
