import type { EndpointParams, ExchangeParams, ProjectParams, ReplayParams } from './paths.ts';
import { notFound } from './failures.server.ts';

type Params = Readonly<Record<string, string | undefined>>;

export const projectParams = ({ namespace, project }: Params): ProjectParams => {
  if (namespace === undefined || project === undefined) throw notFound('such project');
  return { namespace, project };
};

export const endpointParams = (params: Params): EndpointParams => {
  const { endpoint } = params;
  if (endpoint === undefined) throw notFound('such endpoint');
  return { ...projectParams(params), endpoint };
};

export const exchangeParams = (params: Params): ExchangeParams => {
  const { id } = params;
  if (id === undefined) throw notFound('such request');
  return { ...projectParams(params), id };
};

export const replayParams = (params: Params): ReplayParams => {
  const { replay } = params;
  if (replay === undefined) throw notFound('such replay');
  return { ...projectParams(params), replay };
};
