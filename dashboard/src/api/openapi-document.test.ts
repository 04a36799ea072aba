import { expect, it } from 'vitest';
import { openApiDocument } from './openapi-document.ts';
import { API_ROUTES } from './api-handler.ts';

const document = openApiDocument(API_ROUTES) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
};

it('the document contains every route with a unique operation ID', () => {
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => `${method.toUpperCase()} ${path} ${operationId}`),
  );
  expect(described).toEqual(expect.arrayContaining(API_ROUTES.map((r) => `${r.method} ${r.path} ${r.operationId}`)));
  expect(described).toHaveLength(API_ROUTES.length);
  expect(new Set(API_ROUTES.map(({ operationId }) => operationId)).size).toBe(API_ROUTES.length);
});

it('the document defines every schema that it references', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)];
  expect(references.length).toBeGreaterThan(10);
  for (const [, name = ''] of references) expect(document.components.schemas).toHaveProperty(name);
});

it('the document uses the same names in paths and parameters, and no regular expression syntax in paths', () => {
  for (const { path, params } of API_ROUTES) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect(Object.keys(params.shape)).toEqual(names);
    expect(path).toMatch(/^(\/[a-z]+|\/\{\w+\}|:[a-z]+)+$/);
  }
});
