import { xmlAnswer, type Answer } from '../protocol/answers.js';
import { element, escapeXml, xmlDocument } from '../protocol/xml.js';

/** HeadBucket. Clients read the region to sign for from it. */
export function headBucket(region: string): Answer {
  return { status: 200, headers: ['x-amz-bucket-region', region] };
}

/** GetBucketLocation. S3 returns an empty location for `us-east-1`. */
export function bucketLocation(region: string): Answer {
  const text = region === 'us-east-1' ? '' : escapeXml(region);
  return xmlAnswer(xmlDocument('LocationConstraint', text));
}

/** ListBuckets, on one page. */
export function listBuckets(names: readonly string[]): Answer {
  const owner = `<Owner>${element('ID', 'tiered')}</Owner>`;
  const created = element('CreationDate', new Date(0).toISOString());
  const buckets = [...names].sort().map((name) => `<Bucket>${element('Name', name)}${created}</Bucket>`);
  return xmlAnswer(xmlDocument('ListAllMyBucketsResult', `${owner}<Buckets>${buckets.join('')}</Buckets>`));
}
