import type { DrawConfig, ResponseConfig, ValueCondition } from '@standin/contract';
import type { EndpointSpec } from './v1alpha1/endpoint.ts';

type When = NonNullable<NonNullable<EndpointSpec['responses']>[number]['when']>;

/**
 * With all defaults.
 *
 * @param seed of a draw without one
 */
export const responseConditions = (
  { pathParams = [], headers = [], queryParams = [], draw, cel }: When = {},
  seed: string,
): Pick<ResponseConfig, keyof When> => ({
  pathParams: pathParams.map(toValueCondition),
  headers: headers.map(toValueCondition),
  queryParams: queryParams.map(toValueCondition),
  ...(draw !== undefined && { draw: toDrawConfig(draw, seed) }),
  ...(cel !== undefined && { cel }),
});

const toDrawConfig = ({ percent, seed, key }: NonNullable<When['draw']>, defaultSeed: string): DrawConfig => ({
  percent,
  seed: seed ?? defaultSeed,
  ...(key !== undefined && { key }),
});

interface ConditionSpec {
  readonly name: string;
  readonly type?: ValueCondition['type'] | undefined;
  readonly value?: string | undefined;
}

const toValueCondition = ({ name, type = 'Exact', value }: ConditionSpec): ValueCondition => ({
  name,
  type,
  ...(value !== undefined && { value }),
});
