import type { EndpointName, ExpectationName, ProjectName, ReplayName, RequestName } from '../../src/resources/names.ts';
import { notFound } from '../../src/pages/failures.ts';

type Params = Readonly<Record<string, string | undefined>>;

export const projectParams = ({ namespace, project }: Params): ProjectName => {
  if (namespace === undefined || project === undefined) throw notFound('project');
  return { namespace, project };
};

export const endpointParams = (params: Params): EndpointName => {
  const { endpoint } = params;
  if (endpoint === undefined) throw notFound('endpoint');
  return { ...projectParams(params), endpoint };
};

export const exchangeParams = (params: Params): RequestName => {
  const { id } = params;
  if (id === undefined) throw notFound('request');
  return { ...projectParams(params), id };
};

export const replayParams = (params: Params): ReplayName => {
  const { replay } = params;
  if (replay === undefined) throw notFound('replay');
  return { ...projectParams(params), replay };
};

export const expectationParams = (params: Params): ExpectationName => {
  const { expectation } = params;
  if (expectation === undefined) throw notFound('expectation');
  return { ...projectParams(params), expectation };
};
