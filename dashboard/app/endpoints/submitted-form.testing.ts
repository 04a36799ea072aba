import type { EndpointValues } from './endpoint-values.ts';
import { formFields, packed, PACKED } from './form-reader.ts';

/** Returns the form data as a browser submits it. Responses are open or packed. */
export const submitted = ({ credential, headers, responses, delay, ...values }: EndpointValues): FormData => {
  const form = new FormData();
  const set = (path: string, group: unknown): void => {
    for (const [name, value] of formFields(group, path)) form.set(name, value.replaceAll('\n', '\r\n'));
  };
  set('', values);
  set('spec.credential', credential);
  set('spec.json.headers', headers);
  set('spec.json.delay', delay);
  responses.forEach((response, index) => {
    const path = `spec.responses[${index}]`;
    if (response.open === 'true') set(path, response);
    else form.set(`${path}${PACKED}`, packed(response));
  });
  return form;
};
