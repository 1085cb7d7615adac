{% snapshot orders_history %}
{{ config(target_schema='history', unique_key='id', strategy='check', check_cols=['status', 'amount']) }}
select id, status, amount from {{ ref('raw_orders') }}
{% endsnapshot %}
