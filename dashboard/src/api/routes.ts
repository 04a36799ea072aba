import { projectRoutes } from './project-routes.ts';
import { requestRoutes } from './request-routes.ts';
import type { ApiRoute } from './route.ts';

/** The whole API. */
export const API_ROUTES: readonly ApiRoute[] = [...projectRoutes, ...requestRoutes];
