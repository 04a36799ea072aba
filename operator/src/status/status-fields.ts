import { keyFingerprint } from '@standin/contract';
import { z } from 'zod';
import type { AccountKeys } from '../keys/account-keys.ts';
import type { Translator, Verdict } from '../translate/index.ts';
import type { StatusWritten } from './status-writer.ts';

const accountBefore = z.looseObject({
  apiKey: z
    .looseObject({
      fingerprint: z.string().optional().catch(undefined),
      issuedAt: z.string().optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
});

/** Status fields that follow from more than one object, or from what lies outside of objects: counts and keys. */
export class StatusFields {
  readonly #translator: Translator;
  readonly #keys: AccountKeys;
  /** Endpoints that are Ready, and their projects. */
  readonly #ready = new Map<string, string>();

  constructor(translator: Translator, keys: AccountKeys) {
    this.#translator = translator;
    this.#keys = keys;
  }

  of(verdict: Verdict, before: Readonly<Record<string, unknown>>, now: string): Readonly<Record<string, unknown>> {
    switch (verdict.ref.kind) {
      case 'Account':
        return { apiKey: this.#apiKey(verdict.uid, before, now) };
      case 'Project': {
        const endpoints = [...this.#translator.endpointsOf(verdict.uid)];
        return {
          endpoints: { total: endpoints.length, ready: endpoints.filter((uid) => this.#ready.has(uid)).length },
        };
      }
      case 'Endpoint':
        return {};
    }
  }

  /** Returns the project whose count changes with it. */
  setReady({ ref, uid, ready }: StatusWritten): string | undefined {
    if (ref.kind !== 'Endpoint') return undefined;
    const project = this.#translator.projectOf(uid);
    if (project === undefined || ready === this.#ready.has(uid)) return undefined;
    if (ready) this.#ready.set(uid, project);
    else this.#ready.delete(uid);
    return project;
  }

  forget(uid: string): string | undefined {
    const project = this.#ready.get(uid);
    this.#ready.delete(uid);
    return project;
  }

  /** The fingerprint, never the digest: from a weak own key's digest the key could be guessed. */
  #apiKey(uid: string, before: Readonly<Record<string, unknown>>, now: string): Record<string, string> | undefined {
    const state = this.#keys.state(uid);
    if (state?.key.kind !== 'key') return undefined;
    const fingerprint = keyFingerprint(state.key.sha256);
    const previous = accountBefore.parse(before).apiKey;
    const issuedAt = previous?.fingerprint === fingerprint ? previous.issuedAt : undefined;
    return { secretName: state.secretName, fingerprint, issuedAt: issuedAt ?? now };
  }
}
