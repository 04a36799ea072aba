import type { Kind } from '@standin/contract';
import type { AnyKindDefinition } from './definition.ts';
import { account } from './v1alpha1/account.ts';
import { endpoint } from './v1alpha1/endpoint.ts';
import { expectation } from './v1alpha1/expectation.ts';
import { keyRegeneration } from './v1alpha1/key-regeneration.ts';
import { project } from './v1alpha1/project.ts';
import { purge } from './v1alpha1/purge.ts';
import { replay } from './v1alpha1/replay.ts';
import { share } from './v1alpha1/share.ts';

export const DEFINITIONS = {
  Account: account,
  Project: project,
  Endpoint: endpoint,
  Replay: replay,
  Share: share,
  KeyRegeneration: keyRegeneration,
  Purge: purge,
  Expectation: expectation,
} satisfies Record<Kind, AnyKindDefinition>;
