import { LIMITS } from '@standin/contract';
import { Plus } from 'lucide-react';
import { useEffect, useId, useRef, useState, type MouseEvent } from 'react';
import { announceChange } from '../ui/announce-change.ts';
import { Button } from '../ui/button.tsx';
import { FieldErrors } from '../ui/field.tsx';
import { readEndpointValues } from './endpoint-values.ts';
import { editedIndex, editList, LIST_EDIT, type ListEdit } from './list-edit.ts';
import type { FieldsProps } from './mock-fields.tsx';
import { ResponseCard } from './response-card.tsx';
import { newResponse, responsePath, RESPONSES, type ResponseValues } from './response-values.ts';

interface Item {
  readonly key: number;
  readonly response: ResponseValues;
}

export interface ResponseListProps extends FieldsProps {
  /** The slug as the user has entered it. */
  readonly slug: string;
  /** Returns whether a field whose name begins with this path has errors. */
  readonly hasErrorsIn: (path: string) => boolean;
  readonly onAdd: () => void;
}

/** The maximum number of cards with errors that are open when the page opens. More would slow down the page. */
const OPENED_MAX = 4;

/** The responses that are tried before the default response. Without JavaScript, the buttons submit the form. */
export const ResponseList = ({ values, fieldErrors, hasErrorsIn, slug, onAdd }: ResponseListProps) => {
  const parametersId = useId();
  const { group, items, change } = useItems(values.responses);
  const [opened] = useState(() =>
    items
      .filter((_, index) => hasErrorsIn(responsePath(index)))
      .slice(0, OPENED_MAX)
      .map(({ key }) => key),
  );
  return (
    <fieldset ref={group} name={RESPONSES} id="responses" className="flex min-w-0 scroll-mt-14 flex-col gap-2">
      <legend className="font-medium">
        Responses with conditions <span className="font-normal text-muted">(optional)</span>
      </legend>
      <p className="text-small text-muted">
        Tried in this order. The first response whose conditions are all met is returned. If there is none, the default
        response is returned.
      </p>
      <datalist id={parametersId}>
        {parameterNames(slug).map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {items.length > 0 && (
        <ol className="flex flex-col gap-2" aria-label="Responses">
          {items.map(({ key, response }, index) => (
            <ResponseCard
              key={key}
              index={index}
              count={items.length}
              values={response}
              startsOpen={response.open === 'true' || opened.includes(key)}
              fieldErrors={fieldErrors}
              hasErrors={hasErrorsIn(responsePath(index))}
              parametersId={parametersId}
              onEdit={change}
            />
          ))}
        </ol>
      )}
      <FieldErrors errors={fieldErrors(RESPONSES)} />
      <div>
        <Button
          type="submit"
          name={LIST_EDIT}
          value="add"
          formAction="#responses"
          disabled={items.length >= LIMITS.responsesMax}
          onClick={(event) => {
            change(event, { kind: 'add' });
            onAdd();
          }}
        >
          <Plus aria-hidden /> Add response
        </Button>
      </div>
    </fieldset>
  );
};

const parameterNames = (slug: string): readonly string[] => [
  ...new Set([...slug.matchAll(/\{(\w+)(?:\.{3})?\}/g)].map(([, name = '']) => name)),
];

/** Changes the list of cards, and moves focus to where the user continues. */
const useItems = (initial: readonly ResponseValues[]) => {
  const [items, setItems] = useState<readonly Item[]>(() => initial.map((response, key) => ({ key, response })));
  const group = useRef<HTMLFieldSetElement>(null);
  const nextFocus = useRef<{ readonly index: number; readonly kind: ListEdit['kind'] }>(undefined);

  useEffect(() => {
    if (nextFocus.current === undefined) return;
    const { index, kind } = nextFocus.current;
    nextFocus.current = undefined;
    focusCard(group.current, index, kind);
  }, [items]);

  const change = (event: MouseEvent<HTMLButtonElement>, edit: ListEdit): void => {
    event.preventDefault();
    const { form } = event.currentTarget;
    if (form === null) return;
    const current = readEndpointValues(new FormData(form)).responses;
    const key = Math.max(-1, ...items.map((item) => item.key)) + 1;
    setItems(
      editList(items, edit, (copied) => {
        const source = copied && current[items.indexOf(copied)];
        return { key, response: newResponse(current, source) };
      }),
    );
    nextFocus.current = { index: editedIndex(edit, items.length), kind: edit.kind };
    announceChange(group.current);
  };
  return { group, items, change };
};

/** Focuses the name of a new response. Otherwise, focuses the same button, so that it can be pressed again. */
const focusCard = (group: HTMLElement | null, index: number, kind: ListEdit['kind']): void => {
  const card = group?.querySelectorAll<HTMLElement>('ol > li:has(> details)')[index];
  const isNew = kind === 'add' || kind === 'duplicate';
  const target = isNew
    ? card?.querySelector<HTMLElement>('input[name$=".name"]')
    : (card?.querySelector<HTMLElement>(`[data-edit='${kind}']:not(:disabled)`) ?? card?.querySelector('summary'));
  (target ?? group?.querySelector<HTMLElement>("button[value='add']"))?.focus();
};
