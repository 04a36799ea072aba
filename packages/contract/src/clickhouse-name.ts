/** Database and cluster names become part of SQL, so only names that do not need quoting are allowed. */
export const CLICKHOUSE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;

/** The rule for such names, for use in messages. */
export const CLICKHOUSE_NAME_RULE = 'up to 63 letters, digits and underscores, not starting with a digit';
