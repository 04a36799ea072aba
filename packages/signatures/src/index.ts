export * from './secret-headers.ts';
export * from './signing-key.ts';
export * from './verify.ts';
