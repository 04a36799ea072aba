export * from './conditions.ts';
export * from './explain.ts';
export * from './parameter-value.ts';
export * from './path-pattern.ts';
export * from './path-table.ts';
export * from './pattern-table.ts';
export * from './request-facts.ts';
export * from './url-template.ts';
