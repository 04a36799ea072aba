import type { ActionFunctionArgs, LoaderFunctionArgs } from '@remix-run/node';
import { exchangeParams } from './params.server.ts';
import { createShareFrom, loadShareDialog, previewShare } from '../shares/share-dialog.server.ts';

/** Returns the data that the share dialog loads when it opens. */
export const loader = async ({ params, context }: LoaderFunctionArgs) =>
  Response.json(await loadShareDialog(context, exchangeParams(params)));

/**
 * Handles the dialog's form. `intent=create` creates the link and returns it, and the link cannot be retrieved later. Any other
 * intent returns a preview and writes nothing.
 */
export const action = async ({ request, params, context }: ActionFunctionArgs) => {
  const form = await request.formData();
  const names = exchangeParams(params);
  const answer = form.get('intent') === 'create' ? createShareFrom : previewShare;
  return Response.json(await answer(context, names, form));
};

export { keepFetched as clientLoader, keepSubmitted as clientAction } from '../ui/kept-form.ts';
