import type { ResponseConfig, ValueCondition } from '@standin/contract';
import type { EndpointSpec } from './v1alpha1/endpoint.ts';

type When = NonNullable<NonNullable<EndpointSpec['responses']>[number]['when']>;

/** With all defaults. */
export const responseConditions = ({ pathParams = [], headers = [], queryParams = [], cel }: When = {}): Pick<
  ResponseConfig,
  keyof When
> => ({
  pathParams: pathParams.map(toValueCondition),
  headers: headers.map(toValueCondition),
  queryParams: queryParams.map(toValueCondition),
  ...(cel !== undefined && { cel }),
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
