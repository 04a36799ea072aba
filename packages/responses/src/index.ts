export * from './conditions.ts';
export * from './parameter-value.ts';
export * from './path-pattern.ts';
export * from './pattern-table.ts';
export * from './regular-expression.ts';
export * from './request-facts.ts';
export * from './url-template.ts';
