import type { DelayValues } from './delay-values.ts';
import type { EndpointValues } from './endpoint-values.ts';
import type { ResponseValues } from './response-values.ts';

const setRows = (form: FormData, list: string, rows: readonly object[]): void => {
  rows.forEach((row, index) => {
    for (const [part, value] of Object.entries(row)) form.set(`${list}[${index}].${part}`, String(value));
  });
};

const setDelay = (form: FormData, path: string, delay: DelayValues): void => {
  for (const [field, value] of Object.entries(delay)) form.set(`${path}.${field}`, value);
};

/** Returns the form data as a browser submits it. */
export const submitted = ({ headers, responses, delay, ...values }: EndpointValues): FormData => {
  const form = new FormData();
  for (const [name, value] of Object.entries(values)) form.set(name, value.replaceAll('\n', '\r\n'));
  setRows(form, 'spec.json.headers', headers);
  setDelay(form, 'spec.json.delay', delay);
  responses.forEach(({ conditions, headers: own, delay: held, ...texts }: ResponseValues, index) => {
    const path = `spec.responses[${index}]`;
    for (const [name, value] of Object.entries(texts)) form.set(`${path}.${name}`, value.replaceAll('\n', '\r\n'));
    setRows(form, `${path}.conditions`, conditions);
    setRows(form, `${path}.headers`, own);
    setDelay(form, `${path}.delay`, held);
  });
  return form;
};
