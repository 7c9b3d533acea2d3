/** Images in directories, one for each class. @module */
export { classesOf } from './classes.js';
export { imageFolder, type ImageFolderOptions, type LabelledImage } from './image-folder.js';
