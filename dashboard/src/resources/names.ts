/** What a path of the dashboard or the API names. */
export interface ProjectName {
  readonly namespace: string;
  readonly project: string;
}
/** One captured request, by the id of its log entry. */
export interface RequestName extends ProjectName {
  readonly id: string;
}
export interface EndpointName extends ProjectName {
  readonly endpoint: string;
}
export interface ReplayName extends ProjectName {
  readonly replay: string;
}
export interface AccountName {
  readonly namespace: string;
  readonly account: string;
}
