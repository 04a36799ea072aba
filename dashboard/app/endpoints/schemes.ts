import type { SignatureScheme } from '@standin/contract';

/** The label of each scheme, and where its provider shows the secret, in the provider's own words. */
export const SCHEMES: Readonly<Record<SignatureScheme, { readonly label: string; readonly secret: string }>> = {
  GitHub: { label: 'GitHub', secret: 'In the repository or organization, Settings → Webhooks → Add webhook → Secret.' },
  Stripe: {
    label: 'Stripe',
    secret: 'In Workbench, Webhooks → your event destination → Signing secret. Begins with whsec_.',
  },
  Slack: { label: 'Slack', secret: 'In your app’s settings, Basic Information → App Credentials → Signing Secret.' },
  Shopify: {
    label: 'Shopify',
    secret: 'In the admin, Settings → Notifications → Webhooks, below the list. For an app, its Client secret.',
  },
  StandardWebhooks: {
    label: 'Standard Webhooks, Svix',
    secret: 'The signing secret of the endpoint in the provider’s webhook settings. Usually begins with whsec_.',
  },
  HMAC: { label: 'HMAC of the body', secret: 'The secret that the sender uses as the key of the HMAC.' },
  Token: {
    label: 'Token in a header (GitLab, Telegram)',
    secret: 'GitLab: Settings → Webhooks → Secret token. Telegram: the parameter secret_token of setWebhook.',
  },
};
