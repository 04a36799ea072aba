/** Names of databases and clusters become part of SQL, so only names that need no quoting are allowed. */
export const CLICKHOUSE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;

/** The rule for such names, for messages. */
export const CLICKHOUSE_NAME_RULE = 'letters, digits and _, at most 63, no digit first';
