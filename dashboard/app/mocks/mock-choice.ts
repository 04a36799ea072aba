import { LIMITS } from '@standin/contract';
import type { MockChoice } from '../../src/captured/draft-of-row.ts';

/** The names of the fields. */
export const MOCK_FIELDS = { place: 'as', name: 'name', condition: 'when', position: 'position' } as const;
/** The conditions are one field per condition, so a hidden field distinguishes an empty choice from a form without conditions. */
export const CHOSEN = 'chosen';

/** Reads the choice from a submitted form or from the URL. */
export const readMockChoice = (form: FormData | URLSearchParams): MockChoice => {
  const text = (name: string): string | undefined => {
    const value = form.get(name);
    return typeof value === 'string' ? value : undefined;
  };
  const place = text(MOCK_FIELDS.place);
  const position = Number(text(MOCK_FIELDS.position) ?? 0);
  return {
    place: place === 'json' || place === 'response' ? place : undefined,
    name: text(MOCK_FIELDS.name)?.trim(),
    conditions: form.has(CHOSEN)
      ? form
          .getAll(MOCK_FIELDS.condition)
          .slice(0, LIMITS.conditionsMax * 3)
          .map(Number)
      : undefined,
    position: Number.isSafeInteger(position) && position >= 0 ? position : 0,
  };
};
