import { accountRoutes } from './account-routes.ts';
import { keyRegenerationRoutes } from './key-regeneration-routes.ts';
import { projectRoutes } from './project-routes.ts';
import { replayRoutes } from './replay-routes.ts';
import { requestRoutes } from './request-routes.ts';
import type { ApiRoute } from './route.ts';
import { shareRoutes } from './share-routes.ts';

/** All routes of the API. */
export const API_ROUTES: readonly ApiRoute[] = [
  ...projectRoutes,
  ...requestRoutes,
  ...replayRoutes,
  ...shareRoutes,
  ...accountRoutes,
  ...keyRegenerationRoutes,
];
