export * from './conditions.ts';
export * from './delay.ts';
export * from './parameter-value.ts';
export * from './path-pattern.ts';
export * from './pattern-table.ts';
export * from './request-facts.ts';
export * from './url-template.ts';
