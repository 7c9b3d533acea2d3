/** Images in directories, one for each class. @module */
export { classesOf, imageFolder, type ImageFolderOptions, type LabelledImage } from './image-folder.js';
