import process from 'node:process';

const given = (name: string): string | undefined => process.env[name] || undefined;

/** The address and the token of a dashboard, if the environment has them. */
export const environment = () => ({ url: given('STANDIN_URL'), token: given('STANDIN_TOKEN') });
