import { requestHead, wireText } from '@standin/exchange/formats';
import { Download } from 'lucide-react';
import { useMemo } from 'react';
import { paths } from '../paths.ts';
import { formatBytes } from '../requests/traffic-row.ts';
import { buttonClass } from '../ui/button.tsx';
import { CodeView } from '../ui/code-editor.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import type { ExchangeTabProps } from './request-tab.tsx';
import { SectionHeading } from './section-heading.tsx';

/** Shows the request as raw text. Omits a binary body. The log contains neither the API key nor the chunk framing of the body. */
export const RawTab = ({ view, exchange }: ExchangeTabProps) => {
  const { body } = view.request;
  const isText = body.bodyEncoding === 'utf8';
  const isWhole = body.bytesShown === body.bytesCaptured;
  const text = useMemo(() => {
    const head = wireText(requestHead(view)).text;
    return isText ? head + body.body : head;
  }, [view, body, isText]);
  return (
    <section aria-labelledby="raw-request" className="flex flex-col gap-1.5">
      <div className="flex flex-wrap items-center gap-1">
        <SectionHeading id="raw-request" className="mr-auto font-medium">
          Request
        </SectionHeading>
        {isText && isWhole && <CopyButton text={text} label="Copy request" />}
        <a
          href={paths.exchangeFile(exchange, { as: 'http' })}
          download
          className={buttonClass('ghost', 'size-7 px-0')}
          aria-label="Download request"
          title="Download request"
        >
          <Download aria-hidden />
        </a>
      </div>
      <CodeView label="Raw request" language="text" text={text} />
      <p className="text-small text-muted">
        {!isText &&
          `The body (${formatBytes(body.bytes)}) is binary and is not shown. Download the request to get it. `}
        {isText &&
          !isWhole &&
          `Showing the first ${formatBytes(body.bytesShown)} of the body. Download the request to see the rest. `}
        The value of x-api-key is the key’s fingerprint, because the key is not stored. The chunks of a chunked body are
        joined.
      </p>
    </section>
  );
};
