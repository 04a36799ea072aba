import { mergeValues, type Merge, type Side } from '../ui/merge-values.ts';
import type { EndpointValues } from './endpoint-values.ts';
import type { ResponseValues } from './response-values.ts';

/** Fields of a response that describe its saved version or its card. They are not merged. */
const NOT_MERGED = { from: '', binaryBytes: '', kept: '', open: '' };

const content = (values: EndpointValues): EndpointValues => ({
  ...values,
  responses: values.responses.map((response) => ({ ...response, ...NOT_MERGED })),
});

/** Merges two changed versions of an endpoint's form. Responses are merged by name. */
export const mergeEndpoint = (
  base: EndpointValues,
  mine: EndpointValues,
  theirs: EndpointValues,
  prefer?: (path: string) => Side,
): Merge<EndpointValues> => {
  const merge = mergeValues(content(base), content(mine), content(theirs), prefer);
  const saved = new Map(theirs.responses.map((response) => [response.name, response]));
  const submitted = new Map(mine.responses.map((response) => [response.name, response]));
  /** Refers to the saved response that has the same name, or that had the name which this response had before. */
  const restored = (response: ResponseValues): ResponseValues => {
    const { from = '', open = '' } = submitted.get(response.name) ?? {};
    const before = from === '' ? undefined : base.responses[Number(from)];
    const { binaryBytes, kept, ...kin } = saved.get(response.name) ?? saved.get(before?.name ?? '') ?? NOT_MERGED;
    return { ...response, open, from: kin.from, binaryBytes, kept };
  };
  return { ...merge, merged: { ...merge.merged, responses: merge.merged.responses.map(restored) } };
};

const GROUPS: readonly [prefix: string, path: string][] = [
  ['headers', 'spec.json.headers'],
  ['delay', 'spec.json.delay'],
  ['credential', 'spec.credential'],
  ['responses', 'spec.responses'],
  ['upstream', 'spec.forward'],
];

/** Returns the path of a form value as it appears in the manifest. */
export const manifestPath = (path: string): string => {
  const group = GROUPS.find(
    ([prefix]) => path === prefix || (/^[.[]/.test(path.slice(prefix.length)) && path.startsWith(prefix)),
  );
  return group === undefined ? path : `${group[1]}${path.slice(group[0].length)}`;
};
