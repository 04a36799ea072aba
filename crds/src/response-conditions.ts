import type { ResponseConfig, ValueCondition } from '@standin/contract';
import type { EndpointSpec } from './v1alpha1/endpoint.ts';

type When = NonNullable<NonNullable<EndpointSpec['responses']>[number]['when']>;

/** Returns the conditions of a response with all defaults. */
export const conditionsOf = ({ pathParams = [], headers = [], queryParams = [], cel }: When = {}): Pick<
  ResponseConfig,
  keyof When
> => ({
  pathParams: pathParams.map(conditionOf),
  headers: headers.map(conditionOf),
  queryParams: queryParams.map(conditionOf),
  ...(cel !== undefined && { cel }),
});

interface ConditionSpec {
  readonly name: string;
  readonly type?: ValueCondition['type'] | undefined;
  readonly value?: string | undefined;
}

const conditionOf = ({ name, type = 'Exact', value }: ConditionSpec): ValueCondition => ({
  name,
  type,
  ...(value !== undefined && { value }),
});
