import { API_ROUTES } from './api-handler.ts';
import { openApiDocument } from './openapi-document.ts';

/** Returns the OpenAPI document of the JSON API. */
export const apiDocument = () => openApiDocument(API_ROUTES);
