import type { MockOptions } from '../../src/captured/draft-of-row.ts';
import type { RequestCondition } from '../../src/captured/request-conditions.ts';
import { listText } from '@standin/contract';
import { conditionText } from '../endpoints/condition-values.ts';
import { Form } from '../remix.ts';
import { Button } from '../ui/button.tsx';
import { Field } from '../ui/field.tsx';
import { Input, Select } from '../ui/input.tsx';
import { RadioCards } from '../ui/radio-cards.tsx';
import { useSubmitWhileTyping } from '../ui/use-submit-while-typing.ts';
import { CHOSEN, MOCK_FIELDS } from './mock-choice.ts';

/** The id of the form, which the button to save refers to. */
export const MOCK_FORM = 'mock-form';

const PLACES = [
  {
    value: 'response',
    label: 'Add a response for requests like this',
    hint: 'Other requests get the same responses as before.',
  },
  { value: 'json', label: 'Replace the mock', hint: 'All requests that meet no conditions get this response.' },
];

/** Fields for how a captured response is saved. The URL has their values, so that the page shows what changes. */
export const MockForm = ({ options }: { readonly options: MockOptions }) => {
  const show = useSubmitWhileTyping();
  const { place } = options;
  return (
    <Form
      id={MOCK_FORM}
      method="get"
      noValidate
      onInput={(event) => show(event.currentTarget)}
      className="flex flex-col gap-4"
    >
      <RadioCards legend="Save as" name={MOCK_FIELDS.place} choices={PLACES} defaultValue={place} />
      {place === 'response' && <ResponseFields options={options} />}
      <noscript>
        <Button type="submit">Show changes</Button>
      </noscript>
    </Form>
  );
};

/** Returns which requests get the response, as the subject of a sentence. */
export const describeCallers = ({ place, conditions, position, responses }: MockOptions): string => {
  if (place === 'json')
    return responses.length === 0 ? 'Callers' : 'Callers whose requests meet the conditions of no response';
  const texts = conditions.filter(({ isChosen }) => isChosen).map(requestConditionText);
  const earlier = responses.slice(0, position);
  const unless = earlier.length === 0 ? '' : ` and not the conditions of ${listText(earlier, 'or')}`;
  return `Callers whose requests meet ${listText(texts)}${unless}`;
};

const requestConditionText = ({ list, name, value }: RequestCondition): string =>
  conditionText({ where: list, name, type: value === undefined ? 'Present' : '', value: value ?? '' });

const LISTS = [
  { list: 'pathParams', label: 'Path parameters' },
  { list: 'headers', label: 'Headers' },
  { list: 'queryParams', label: 'Query parameters' },
] as const;

const ResponseFields = ({ options }: { readonly options: MockOptions }) => {
  const { name, conditions, position, responses } = options;
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Response name" hint="Lowercase letters, digits and -.">
          <Input mono name={MOCK_FIELDS.name} defaultValue={name} />
        </Field>
        {responses.length > 0 && (
          <Field label="Order" hint="The first response whose conditions are met is returned.">
            <Select name={MOCK_FIELDS.position} defaultValue={String(position)}>
              <option value="0">First</option>
              {responses.map((other, index) => (
                <option key={other} value={String(index + 1)}>
                  After {other}
                </option>
              ))}
            </Select>
          </Field>
        )}
      </div>
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-1 font-medium">Conditions</legend>
        <input type="hidden" name={CHOSEN} value="true" />
        <p className="text-small text-muted">
          Only requests that meet all selected conditions get this response. This request meets all of them.
        </p>
        {LISTS.map(({ list, label }) => {
          const rows = conditions.flatMap((condition, index) =>
            condition.list === list ? [{ condition, index }] : [],
          );
          if (rows.length === 0) return null;
          return (
            <div key={list} role="group" aria-label={label} className="flex flex-col gap-1">
              <p aria-hidden className="text-small text-muted">
                {label}
              </p>
              {rows.map(({ condition, index }) => (
                <label key={index} className="flex min-h-6 items-start gap-2">
                  <input
                    type="checkbox"
                    name={MOCK_FIELDS.condition}
                    value={String(index)}
                    defaultChecked={condition.isChosen}
                    className="mt-0.5 size-4 shrink-0 accent-accent"
                  />
                  <bdi className="line-clamp-2 min-w-0 font-mono text-small break-all">
                    {requestConditionText(condition)}
                  </bdi>
                </label>
              ))}
            </div>
          );
        })}
      </fieldset>
    </>
  );
};
