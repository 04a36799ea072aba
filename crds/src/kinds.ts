import type { Kind } from '@standin/contract';
import type { AnyKindDefinition } from './definition.ts';
import { account } from './v1alpha1/account.ts';
import { endpoint } from './v1alpha1/endpoint.ts';
import { project } from './v1alpha1/project.ts';

export const DEFINITIONS = { Account: account, Project: project, Endpoint: endpoint } satisfies Record<
  Kind,
  AnyKindDefinition
>;
